import { FORK_OWN_TOOLS } from "../../stages/omit-for-child.ts";

/** True for a tool that the plugin adds; what it says is bounded where it is made. */
export function isOwnTool(tool: string): boolean {
  return FORK_OWN_TOOLS.includes(tool);
}
