import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type OpenCodeScreen, openScreen } from "../opencode/opencode-tui.ts";
import { findOpencode2, NO_OPENCODE2, type Opencode2 } from "./start-opencode2.ts";

/** OpenCode 2's own screen in a terminal of tmux, at a server that runs already: so no background service is started. */
export async function startScreen2({
  host,
  sessionId,
  plugins = [],
  width = 150,
  height = 40,
}: Screen2Options): Promise<OpenCodeScreen> {
  const binary = findOpencode2();
  if (binary === undefined) throw new Error(NO_OPENCODE2);
  // What the terminal reads, and `opencode.json` is not.
  writeFileSync(join(host.sandbox.configFolder, "cli.json"), JSON.stringify({ plugins }));
  const program = [binary, "--server", host.url, "--session", sessionId];
  return openScreen({
    sandbox: host.sandbox,
    program,
    env: host.env,
    // Before it knows the model, it would ask for a provider.
    isReady: /Build · (?!No provider)\S/,
    width,
    height,
  });
}

export interface Screen2Options {
  readonly host: Opencode2;
  /** The session that it opens. */
  readonly sessionId: string;
  /** The parts of plugins that run in the terminal. */
  readonly plugins?: readonly string[];
  readonly width?: number;
  readonly height?: number;
}
