import type { TuiApi } from "./hosts/opencode/tui.ts";
import type { TuiContext } from "./hosts/opencode2/tui/tui-context.ts";

/**
 * The part of the OpenCode plugin that runs in its terminal. Version 1 calls `tui`, named in `tui.json`; version 2 calls
 * `setup`, named in `cli.json` or found in the package. Neither loads what is for the other.
 */
const plugin: TuiPlugin = {
  id: "carryover",
  tui: async (api) => (await import("./hosts/opencode/tui.ts")).createTui(api),
  setup: async (context) => (await import("./hosts/opencode2/tui/tui.ts")).createTui(context),
};

interface TuiPlugin {
  readonly id: string;
  readonly tui: (api: TuiApi) => Promise<void>;
  readonly setup: (context: TuiContext) => Promise<() => void>;
}

export default plugin;
