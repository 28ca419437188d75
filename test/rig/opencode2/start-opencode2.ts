import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { type EventLog, followEvents, type HostEvent } from "../opencode/opencode-client.ts";
import { runOpenCode } from "../opencode/run-opencode.ts";
import { createSandbox, type ModelChoice, type Sandbox, writeConfig } from "../opencode/sandbox.ts";
import { freePort, startServer } from "../opencode/start-opencode.ts";

/** The binary of OpenCode 2 that tests run: `OPENCODE2_BIN`, or one in the cache of this machine; undefined where there is none. */
export function findOpencode2(): string | undefined {
  const places = [process.env.OPENCODE2_BIN, join(homedir(), ".cache", "carryover", "opencode2")];
  return places.find((path) => path !== undefined && path !== "" && existsSync(path));
}

/** What to say where it is not there. */
export const NO_OPENCODE2 = "skipped: OpenCode 2 is not here; set OPENCODE2_BIN to its program";

/** Runs the real OpenCode 2 against a scripted model, in a sandbox, without a network. */
export async function startOpencode2(options: StartOpencode2Options): Promise<Opencode2> {
  const binary = findOpencode2();
  if (binary === undefined) throw new Error(NO_OPENCODE2);
  const sandbox = options.sandbox ?? createSandbox();
  writeConfig(sandbox, { modelUrl: options.modelUrl, config: options.config ?? {} });
  const password = randomUUID();
  const env = {
    ...sandbox.env,
    ...options.env,
    PATH: [sandbox.env.PATH, emptySearch(sandbox)].join(delimiter),
    OPENCODE_PASSWORD: password,
    OPENCODE_DISABLE_FFF: "1",
  };
  const args = ["serve", "--hostname", "127.0.0.1", "--port", await freePort()];
  const { url, end } = await startServer({ binary, args, sandbox, env });
  const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`;
  const call = createCalls({ url, authorization, directory: sandbox.project });
  return {
    url,
    sandbox,
    env,
    call,
    async createSession(title, model) {
      const location = { directory: sandbox.project };
      const asked = model === undefined ? {} : { model: { id: model.modelID, providerID: model.providerID } };
      return ((await call("POST", "/api/session", { title, location, ...asked })) as Data<{ id: string }>)
        .data.id;
    },
    async prompt(sessionId, text) {
      await call("POST", `/api/session/${sessionId}/prompt`, { text });
      await call("POST", `/api/session/${sessionId}/wait`);
    },
    collectEvents: (into) =>
      followEvents({
        target: new URL("/api/event", url),
        headers: { authorization },
        tell(event) {
          const { type, data = {} } = event as { type: string; data?: HostEvent["properties"] };
          into.push({ type, properties: data });
        },
      }),
    exportSession: async (sessionId) =>
      ((await call("GET", `/api/session/${sessionId}/export`)) as Data<unknown>).data,
    runCommand: (...args) => runOpenCode({ binary, args, sandbox, env }),
    kill: end,
    async stop() {
      await end();
      if (options.sandbox === undefined) sandbox.remove();
    },
  };
}

export interface StartOpencode2Options {
  readonly modelUrl: string;
  /** Unset means a fresh one, removed on stop. */
  readonly sandbox?: Sandbox;
  /** Top-level configuration keys that replace ours; version 2 reads those of version 1 too. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Opencode2 {
  readonly url: string;
  readonly sandbox: Sandbox;
  /** What it runs with; the password is in it. */
  readonly env: Readonly<Record<string, string>>;
  /** Any route; throws when the status is not a success. */
  call(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Gives the id of the new session. */
  createSession(title: string, model?: ModelChoice): Promise<string>;
  /** Returns when the agent has finished its turn. */
  prompt(sessionId: string, text: string): Promise<void>;
  /** What the program tells from now on; what an event says stands in `properties`, as in version 1. */
  collectEvents(into: HostEvent[]): Promise<EventLog>;
  /** What `opencode export` writes. */
  exportSession(sessionId: string): Promise<unknown>;
  /** Runs another command of the same binary in the same sandbox. */
  runCommand(...args: readonly string[]): ReturnType<typeof runOpenCode>;
  /** Ends the program as a power cut would and keeps the sandbox, so that it can be started again. */
  kill(): Promise<void>;
  /** Ends the program with everything it started, and removes a sandbox that was made for it. */
  stop(): Promise<void>;
}

/** A folder with a ripgrep that finds nothing, for machines that have none: the program would download it at its start. */
function emptySearch(sandbox: Sandbox): string {
  const folder = join(sandbox.root, "search");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "rg"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  return folder;
}

interface Data<Value> {
  readonly data: Value;
}

function createCalls({
  url,
  authorization,
  directory,
}: Record<"url" | "authorization" | "directory", string>) {
  return async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const target = new URL(path, url);
    target.searchParams.set("location[directory]", directory);
    const response = await fetch(target, {
      method,
      headers: { authorization, "content-type": "application/json" },
      ...(method === "GET" ? {} : { body: JSON.stringify(body ?? {}) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} gave ${response.status}: ${text.slice(0, 500)}`);
    return text === "" ? undefined : JSON.parse(text);
  };
}
