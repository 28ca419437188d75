import { readPageAssets } from "../inspector/server/page-assets.ts";
import { type EndReason, type ServedInspector, serveInspector } from "../inspector/server/serve-inspector.ts";
import type { SessionSource } from "../inspector/server/session-source.ts";
import { CliError } from "./cli-error.ts";
import { openBrowser } from "./inspect-browser.ts";

/** Serves the page until Ctrl-C, or until nobody has asked for half an hour. The token is written once: in the address, for a person to see. */
export async function serveUntilStopped(source: SessionSource, options: ServeFlags): Promise<void> {
  const { port = 0, browser, say } = options;
  const inspector = await start(source, port);
  const address = inspector.invite();
  say(`Page: ${address}`);
  say(`Each address opens it once, on this machine only. ${again()}Ctrl-C ends it.`);
  if (browser === "open") openBrowser(address);
  const reason = await waitForEnd(inspector, () => say(`Page: ${inspector.invite()}`));
  if (reason === "idle") say("Ended: nobody has asked for 30 minutes.");
}

export interface ServeFlags {
  readonly port?: number;
  readonly browser: "open" | "leave";
  /** Writes a line to the terminal. */
  readonly say: (line: string) => void;
}

async function start(source: SessionSource, port: number): Promise<ServedInspector> {
  const assets = await pageAssets();
  try {
    return await serveInspector({ source, assets, port });
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === "EADDRINUSE" ? "it is in use" : String(error);
    throw new CliError(`Cannot listen on port ${port}: ${reason}`, ["Leave out --port to get a free one."], {
      cause: error,
    });
  }
}

/** What the build made of the page, or an error that says what to do. */
export async function pageAssets(): ReturnType<typeof readPageAssets> {
  try {
    return await readPageAssets();
  } catch (error) {
    throw new CliError((error as Error).message, ["Install the package again, or build it."], {
      cause: error,
    });
  }
}

function again(): string {
  return process.stdin.isTTY ? "Press Enter for another. " : "";
}

async function waitForEnd(inspector: ServedInspector, inviteAgain: () => void): Promise<EndReason> {
  const stop = (): void => void inspector.stop();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  if (process.stdin.isTTY) process.stdin.on("data", inviteAgain);
  try {
    return await inspector.ended;
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
    if (process.stdin.isTTY) process.stdin.off("data", inviteAgain).pause();
  }
}
