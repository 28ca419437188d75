import { type ChildProcess, spawn } from "node:child_process";
import {
  applyLiveEvent,
  type LiveEvent,
  type LiveState,
  liveStateOf,
  type ServedSession,
} from "../../../src/inspector/view/protocol.ts";
import type { Message } from "../../../src/transcript/message.ts";
import { tokenOf } from "../../inspector/server-support.ts";
import { buildCli } from "../../rig/build-cli.ts";
import { installOpenCode } from "../../rig/opencode/install-opencode.ts";
import type { Rig } from "../harness/rig.ts";

/** `carryover inspect --live` as another process. */
export interface StartedInspector {
  readonly child: ChildProcess;
  readonly address: string;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

/** Follows a session, the newest when none is named, and gives the address of its page. */
export async function startInspector(rig: Rig, ...args: readonly string[]): Promise<StartedInspector> {
  const cli = await buildCli();
  const child = spawn(process.execPath, [cli, "inspect", "--live", ...args], {
    cwd: rig.sandbox.project,
    env: { ...rig.sandbox.env, OPENCODE_BIN: await installOpenCode() },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const hear = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const address = await rig
    .waitFor(() => /^Page: (http\S+)\n/m.exec(output)?.[1], { what: "the address", timeoutMs: 60_000 })
    .catch((cause: unknown) => {
      throw new Error(`The inspector did not say its address. It said: ${output}`, { cause });
    });
  return { child, address, output: () => output, ended };
}

/** A page without a browser. */
export interface Follower {
  readonly state: () => LiveState;
  readonly leave: () => void;
}

/** Does what the page does, without a page. */
export async function followSession(address: string): Promise<Follower> {
  const { origin } = new URL(address);
  const entered = await fetch(`${origin}/api/token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: tokenOf(address) }),
  });
  const { token } = (await entered.json()) as { readonly token: string };
  const abort = new AbortController();
  const ask = (path: string): Promise<Response> =>
    fetch(origin + path, { headers: { authorization: `Bearer ${token}` }, signal: abort.signal });
  const { live, messages: _, ...head } = (await (await ask("/api/session")).json()) as ServedSession;
  const { messages } = (await (await ask("/api/messages")).json()) as {
    readonly messages: readonly Message[];
  };
  let state = liveStateOf({ ...head, transcript: messages });
  const stream = await ask(`/api/events?revision=${live?.revision}`);
  const listen = async (): Promise<void> => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of stream.body ?? []) {
      const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines)
        if (line.startsWith("data: ")) state = applyLiveEvent(state, JSON.parse(line.slice(6)) as LiveEvent);
    }
  };
  void listen().catch(() => {});
  return { state: () => state, leave: () => abort.abort() };
}
