import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { FORK_OWN_TOOLS } from "../../fork/context/options.ts";
import { jsonOrText } from "../../text/json.ts";
import { asArray, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import { isCarryover } from "../opencode/configuration.ts";
import type { OpencodeHost } from "./find-plugin.ts";

/**
 * Starts the user's OpenCode as a server in a folder, with the user's own configuration, and asks which tools it has
 * there and which agents are refused them. No model is asked anything; the server listens on this machine only.
 */
export async function askHost({ binary, directory, env, host }: HostQuestion): Promise<HostAnswer> {
  const printed: string[] = [];
  const port = await freePort();
  const password = randomUUID();
  const logs = host === "opencode" ? ["--print-logs"] : [];
  const child = spawn(binary, ["serve", "--hostname", "127.0.0.1", "--port", String(port), ...logs], {
    cwd: directory,
    // Version 1 does not know it; version 2 makes one up where there is none.
    env: { ...env, OPENCODE_PASSWORD: password },
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    const url = await listening(child, printed);
    if (host === "opencode2") return { ...(await askSecondVersion(url, { directory, password })), printed };
    const answer = await get(`${url}/experimental/tool/ids`);
    if (!answer.ok) return { status: "refused", reason: readRefusal(answer.body), printed };
    const agents = await get(`${url}/agent`);
    return {
      status: "answered",
      tools: asArray(answer.body).map(String),
      agents: asArray(agents.body).map(asObject).filter(isMain).map(readAgent),
      printed,
    };
  } catch (cause) {
    return { status: "refused", reason: cause instanceof Error ? cause.message : String(cause), printed };
  } finally {
    child.kill("SIGKILL");
  }
}

/** The same of OpenCode 2, which does not list its tools: a plugin that it calls active has added them. */
async function askSecondVersion(url: string, { directory, password }: SecondQuestion) {
  const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`;
  const place = `location[directory]=${encodeURIComponent(directory)}`;
  const list = async (path: string) => {
    const answer = await get(`${url}/api/${path}?${place}`, { authorization });
    if (!answer.ok) throw new Error(readRefusal(answer.body));
    return asArray(asObject(answer.body).data).map(asObject);
  };
  const untilMs = Date.now() + SETTLED_MS;
  let own: UnknownObject | undefined;
  do {
    own = (await list("plugin")).findLast(isOwn);
    if (own?.status === "active" || own?.status === "failed") break;
    await sleep(LOOK_MS);
  } while (Date.now() < untilMs);
  const agents = await list("agent");
  return {
    status: "answered",
    tools: own?.status === "active" ? FORK_OWN_TOOLS : [],
    ...(own?.status === "failed" && { failure: String(own.error).split("\n", 1)[0]?.slice(0, 400) ?? "" }),
    agents: agents.filter(isMain).map(({ id, permissions }) => {
      const rules = asArray(permissions).map(asObject);
      const permission = rules.map(({ action, resource, effect }) => ({
        permission: action,
        pattern: resource,
        action: effect,
      }));
      return readAgent({ name: id, permission });
    }),
  } as const;
}

/** One that could not be loaded has no id. */
function isOwn({ id, source }: UnknownObject): boolean {
  const { package: name, path } = asObject(source);
  return id === "carryover" || isCarryover({ spec: asString(name) ?? asString(path) ?? "" });
}

interface SecondQuestion {
  readonly directory: string;
  readonly password: string;
}

/** How long OpenCode 2 may take to load the plugins of a folder after it has begun to. */
const SETTLED_MS = 10_000;
const LOOK_MS = 250;

interface HostQuestion {
  readonly binary: string;
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  readonly host: OpencodeHost;
}

export type HostAnswer = { /** What it wrote to its log. */ readonly printed: readonly string[] } & (
  | {
      readonly status: "answered";
      /** Every tool that is registered. */
      readonly tools: readonly string[];
      /** The agents that a person can talk to. */
      readonly agents: readonly AgentTools[];
      /** Why our plugin could not be loaded, where that is said. */
      readonly failure?: string;
    }
  | { readonly status: "refused"; readonly reason: string }
);

interface AgentTools {
  readonly name: string;
  /** Those of our tools that it is not offered. */
  readonly refused: readonly string[];
}

const START_MS = 120_000;

async function get(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly ok: boolean; readonly body: unknown }> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(START_MS) });
  return { ok: response.ok, body: jsonOrText(await response.text()) };
}

/** The server's address. A request that comes before it is announced is lost. */
function listening(child: ChildProcess, printed: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (what: string): void => reject(new Error(`${what}: ${printed.join("").trim().slice(-400)}`));
    const timer = setTimeout(() => fail("it did not start within two minutes"), START_MS);
    const take = (chunk: Buffer): void => {
      printed.push(chunk.toString("utf8"));
      const url = /listening on (http:\S+)/.exec(printed.join(""))?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    };
    child.stdout?.on("data", take);
    child.stderr?.on("data", take);
    child.once("error", (cause) => fail(`it cannot be started (${cause.message})`));
    // Not "exit", which may come before the last of what it printed.
    child.once("close", (code) => {
      clearTimeout(timer);
      fail(`it ended with code ${code}`);
    });
  });
}

/** What OpenCode says of a configuration that it does not take. */
function readRefusal(body: unknown): string {
  const { name, data } = asObject(body);
  const { path, message, issues } = asObject(data);
  const first = asObject(asArray(issues)[0]);
  const detail = asString(message) ?? `${asArray(first.path).join(".")}: ${asString(first.message) ?? ""}`;
  return [asString(name), asString(path), detail.trim().slice(0, 600)].filter(Boolean).join(" · ");
}

function isMain({ mode, hidden }: UnknownObject): boolean {
  return mode !== "subagent" && hidden !== true;
}

/** The last permission rule that names a tool decides, and hides it if it denies everything. */
function readAgent({ name, permission }: UnknownObject): AgentTools {
  const rules = asArray(permission).map(asObject);
  const refused = FORK_OWN_TOOLS.filter((tool) => {
    const last = rules.findLast(({ permission: pattern }) => matches(String(pattern), tool));
    return last?.action === "deny" && last.pattern === "*";
  });
  return { name: String(name), refused };
}

function matches(pattern: string, tool: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(tool);
}

// Port 0 means 4096 to OpenCode, if that is free.
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
