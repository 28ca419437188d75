import { createTui } from "./hosts/opencode/tui.ts";

/** The part of the OpenCode plugin that runs in its terminal: `"plugin": ["carryover"]` in `tui.json`. */
const plugin: { readonly id: string; readonly tui: typeof createTui } = { id: "carryover", tui: createTui };

export default plugin;
