import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** The default folder for state: `carryover` in $XDG_STATE_HOME, else in ~/.local/state. */
export function defaultStateFolder(env: StateFolderEnvironment = process.env): string {
  const stateHome = env.XDG_STATE_HOME;
  // The XDG specification says that a relative path must be ignored.
  if (stateHome && isAbsolute(stateHome)) return join(stateHome, "carryover");
  return join(env.HOME || homedir(), ".local", "state", "carryover");
}

/** The environment variables that name the folder, such as `process.env`. */
export interface StateFolderEnvironment {
  readonly XDG_STATE_HOME?: string | undefined;
  readonly HOME?: string | undefined;
}
