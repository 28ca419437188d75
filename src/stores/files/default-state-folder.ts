import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Where everything of ours is kept: `carryover` in $XDG_STATE_HOME, else in ~/.local/state. */
export function defaultStateFolder(env: StateFolderEnvironment): string {
  const stateHome = env.XDG_STATE_HOME;
  // The XDG rules say that a relative path is to be ignored.
  if (stateHome && isAbsolute(stateHome)) return join(stateHome, "carryover");
  return join(env.HOME || homedir(), ".local", "state", "carryover");
}

export interface StateFolderEnvironment {
  readonly XDG_STATE_HOME?: string | undefined;
  readonly HOME?: string | undefined;
}
