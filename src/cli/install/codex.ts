import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { agentHome } from "../../agents/places.ts";
import { asArray, asObject, asString } from "../../text/unknown-value.ts";
import { CliError, EXIT_CODES } from "../terminal/cli-error.ts";
import { type HookProgram, type InstallPlace, PLUGIN } from "./hook-program.ts";
import { rewriteSettings } from "./plugin-folder.ts";

/** Codex: a marketplace of one folder, which it copies; hooks run only once they are trusted. */
export const CODEX: HookProgram = {
  name: "codex",
  title: "Codex",
  command: "codex",
  variable: "CODEX_BIN",
  testedVersion: "0.166.0",
  addVerb: "add",
  removeVerb: "remove",
  settings: (env) => configFile({ env }),
  settingsVariable: "CODEX_HOME",
  written: (place) => [
    `which adds to ${configFile(place)}`,
    `  [marketplaces.carryover] source = ${JSON.stringify(place.folder)}`,
    '  [plugins."carryover@carryover"] enabled = true',
    `and a copy in ${join(agentHome("codex", place.env), "plugins", "cache", "carryover")}`,
  ],
  async prepare(place) {
    const file = join(place.folder, "carryover", "codex.mcp.json");
    const settings = await readFile(configFile(place), "utf8").catch(() => "");
    const program = join(place.folder, "carryover", "mcp.js");
    await rewriteSettings(file, withKeys(await readFile(file, "utf8"), { settings, program }));
  },
  // It edits its file in place and leaves everything else as it is.
  keepSettings: (_place, _what, run) => run(),
  trust: {
    written: (place) => [
      `Trusts the plugin's hooks in ${configFile(place)}`,
      '  [hooks.state."carryover@carryover:…"] the hashes that Codex computes, for each hook',
    ],
    async write(place) {
      const hooks = await listHooks(place);
      const file = configFile(place);
      const text = await readFile(file, "utf8").catch(() => "");
      await rewriteSettings(file, withTrust(text, hooks));
    },
    async remove(place) {
      const file = configFile(place);
      const text = await readFile(file, "utf8").catch(() => undefined);
      const without = text === undefined ? undefined : withTrust(text, []);
      if (without !== undefined && without !== text) await rewriteSettings(file, without);
    },
  },
  next: ({ isTrusted }) =>
    isTrusted
      ? ["Carryover is in Codex from its next session on."]
      : [
          "Codex runs no hook that nobody has looked at. Start it once: it says that hooks need review, and you may trust them there.",
          "For `codex exec` alone: carryover install codex --trust",
        ],
};

function configFile(place: Pick<InstallPlace, "env">): string {
  return join(agentHome("codex", place.env), "config.toml");
}

/**
 * Codex hands a server of tools only the variables that its settings name. The child of a fork asks the same provider, so
 * those that hold the keys of the user's own providers are named too. It must also run in the folder of the session, and not
 * in that of the plugin, to which a relative path would bind it.
 */
export function withKeys(server: string, { settings, program }: ServerFacts): string {
  const names = [...settings.matchAll(/^\s*env_key\s*=\s*["'](\w+)["']/gm)].map(([, name]) => name);
  const { mcpServers } = asObject(JSON.parse(server));
  const { cwd: _, ...ours } = asObject(asObject(mcpServers).carryover);
  const env_vars = [...new Set([...asArray(ours.env_vars), ...names])];
  const carryover = { ...ours, args: [program, "codex"], env_vars };
  return `${JSON.stringify({ mcpServers: { carryover } }, undefined, 2)}\n`;
}

interface ServerFacts {
  /** The user's configuration of Codex. */
  readonly settings: string;
  /** The path of the server. */
  readonly program: string;
}

interface HookHash {
  readonly key: string;
  readonly hash: string;
}

/** A hook as Codex knows it. */
interface KnownHook extends HookHash {
  /** `trusted`, or why it is skipped. */
  readonly trust: string;
  readonly isEnabled: boolean;
}

/** The configuration with these hooks of ours trusted and no others; everything that is not ours stays as it is. */
export function withTrust(text: string, hooks: readonly HookHash[]): string {
  const lines = text.split("\n");
  const kept: string[] = [];
  let isOurs = false;
  for (const line of lines) {
    if (/^\s*\[/.test(line)) isOurs = OUR_STATE.test(line);
    if (!isOurs) kept.push(line);
  }
  const rest = kept.join("\n");
  if (hooks.length === 0) return rest;
  const tables = hooks.map(({ key, hash }) => {
    // Of a plugin two hashes are trusted: that of the hook, and behind a slash that of everything in its folder.
    const [own = "", content] = hash.split("/");
    const trusted = [`trusted_hash = ${JSON.stringify(own)}`];
    if (content !== undefined) trusted.push(`trusted_content_hash = ${JSON.stringify(content)}`);
    return `[hooks.state.${JSON.stringify(key)}]\n${trusted.join("\n")}\n`;
  });
  const gap = rest === "" || rest.endsWith("\n\n") ? "" : rest.endsWith("\n") ? "\n" : "\n\n";
  return `${rest}${gap}${tables.join("\n")}`;
}

const OUR_STATE = /^\s*\[hooks\.state\."carryover@carryover:/;

/** Our hooks with the hashes that Codex would ask a person about, and whether it runs them. */
export async function listHooks({
  program,
  env,
}: Pick<InstallPlace, "program" | "env">): Promise<readonly KnownHook[]> {
  const child = spawn(program, ["app-server"], { env: { ...env }, stdio: ["pipe", "pipe", "ignore"] });
  try {
    const answers = answersOf(child);
    await answers.ask("initialize", { clientInfo: { name: "carryover", version: "0" } });
    const { data } = asObject(await answers.ask("hooks/list", { cwds: [process.cwd()] }));
    const hooks = asArray(data)
      .flatMap((each) => asArray(asObject(each).hooks))
      .map(asObject);
    return hooks
      .filter(({ pluginId }) => pluginId === PLUGIN)
      .map(({ key, currentHash, trustStatus, enabled }) => ({
        key: asString(key) ?? "",
        hash: asString(currentHash) ?? "",
        trust: asString(trustStatus) ?? "unknown",
        isEnabled: enabled !== false,
      }));
  } finally {
    child.kill();
  }
}

/** Requests to its app server, one line each. */
function answersOf(child: ChildProcess) {
  const waiting = new Map<number, (answer: unknown) => void>();
  if (child.stdout !== null)
    createInterface({ input: child.stdout }).on("line", (line) => {
      const { id, result } = asObject(JSON.parse(line));
      if (typeof id === "number") waiting.get(id)?.(result);
    });
  let last = 0;
  return {
    ask(method: string, params: object): Promise<unknown> {
      const id = ++last;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(silent()), ANSWER_MS);
        child.once("error", () => reject(silent()));
        waiting.set(id, (answer) => {
          clearTimeout(timer);
          resolve(answer);
        });
        child.stdin?.write(`${JSON.stringify({ id, method, params })}\n`);
      });
    },
  };
}

const ANSWER_MS = 20_000;

function silent(): CliError {
  return new CliError("Codex does not say which hooks it knows", ["Trust them in its terminal instead."], {
    exitCode: EXIT_CODES.outside,
  });
}
