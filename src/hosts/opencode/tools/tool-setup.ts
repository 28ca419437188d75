import type { Forks } from "../forks/create-forks.ts";
import type { PluginContext } from "../plugin-context.ts";

/** What the tools work with. */
export interface ToolSetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}
