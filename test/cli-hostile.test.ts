import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFileRecordStore } from "../src/stores/files/record-store.ts";
import { asObject } from "../src/text/unknown-value.ts";
import { buildCli } from "./rig/build-cli.ts";
import { cliSamples } from "./rig/cli-samples.ts";
import { sampleFork } from "./rig/forks/fork-samples.ts";
import { createCliRunner } from "./rig/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "carryover-hostile-"));
const work = join(folder, "work");
let cli = "";
const carryover = createCliRunner(() => cli);

// A title of the window, a cleared screen, a colour, a C1 introducer, a line written over, a text turned around.
const HOSTILE =
  "\u001b]0;owned\u0007\u001b[2J\u001b[31mred\u009b31m\rover\u202eturned\u200e\u061c\u2028\u0000\u0085";
const FORMATS = ["opencode", "claude-code", "codex"];

/** The value with hostile characters in every text that a format does not give a meaning to. */
function hostile(value: unknown, key = ""): unknown {
  if (typeof value === "string") return MEANING.test(key) ? value : value + HOSTILE;
  if (Array.isArray(value)) return value.map((each) => hostile(each, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, hostile(each, name)]));
}

const MEANING =
  /^(?:type|role|status|finish|stop_reason|timestamp|version|mime|phase|.*(?:id|ID|Id|uuid|Uuid))$/;

/** An answer of Claude Code that cost something, with a cache that was broken before it. */
function withUsage(line: unknown): unknown {
  const { type, message } = asObject(line);
  const usage = {
    input_tokens: 10,
    cache_creation_input_tokens: 50_000,
    cache_read_input_tokens: 0,
    output_tokens: 10,
  };
  return type === "assistant" ? { ...asObject(line), message: { ...asObject(message), usage } } : line;
}

const paths = new Map<string, string>();

beforeAll(async () => {
  cli = await buildCli("cli-hostile");
  mkdirSync(work, { recursive: true });
  for (const { format, fileName, text } of cliSamples().filter((sample) => FORMATS.includes(sample.format))) {
    const isLines = fileName.endsWith("l");
    const values = isLines ? text.trim().split("\n") : [text];
    const path = join(work, `${NAME}-${fileName}`);
    const lines = values.map((each) => JSON.stringify(hostile(withUsage(JSON.parse(each))))).join("\n");
    writeFileSync(path, lines);
    paths.set(format, path);
    if (format !== "claude-code") continue;
    // A name with a line break is none of Claude Code's.
    mkdirSync(join(home, "projects", NAME), { recursive: true });
    writeFileSync(join(home, "projects", NAME, `${NAME.replace(/[\r\u2028]/g, "")}.jsonl`), lines);
    mkdirSync(path.replace(/\.jsonl$/, "/subagents"), { recursive: true });
    writeFileSync(path.replace(/\.jsonl$/, `/subagents/${NAME}.jsonl`), lines);
  }
  const forks = createFileRecordStore({ root: join(store, "forks", "project") });
  const fork = sampleFork({ id: "fork", title: HOSTILE, project: HOSTILE, rootSessionId: HOSTILE });
  await forks.put({ id: fork.id, value: fork, expected: "missing" });
  mkdirSync(join(store, "forks", NAME));
  writeFileSync(join(store, "forks", NAME, "damaged.json"), "{");
  writeFileSync(join(store, "forks", "project", `${NAME}.json`), "{");
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The characters of a text that a terminal obeys or that turn its order around. */
function commandsIn(text: string): readonly string[] {
  return Array.from(
    text.matchAll(/.{0,60}[^\n\t\P{Cc}]|.{0,60}[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu),
    ([found]) => JSON.stringify(found),
  );
}

const session = (format = "opencode"): string => paths.get(format) ?? "";
const NAME = HOSTILE.replace("\u0000", "");
const store = join(folder, "store");
const home = join(folder, "claude");

describe("nothing of a session, a file name or an argument reaches the terminal as a command", () => {
  const verbs: readonly (readonly [name: string, args: () => readonly string[]])[] = [
    ...FORMATS.map((format) => [`inspect of ${format}`, () => ["inspect", session(format)]] as const),
    ["inspect for a program", () => ["inspect", session(), "--json"]],
    [
      "inspect as a page",
      () => ["inspect", session(), "--html", join(folder, `${HOSTILE.slice(0, -2)}.html`)],
    ],
    ["fork", () => ["fork", session()]],
    ["fork as text", () => ["fork", session(), "--text"]],
    ["fork as messages", () => ["fork", session("claude-code"), "--as", "messages"]],
    ["fork for a program", () => ["fork", session(), "--json"]],
    ["compact", () => ["compact", session("codex"), "--keep", "200"]],
    ["compact, folded", () => ["compact", session(), "--local", "--keep", "200"]],
    ["compact for a program", () => ["compact", session(), "--local", "--json"]],
    ...["claude-code", "codex", "pi"].map(
      (agent) =>
        [`handoff to ${agent}`, () => ["handoff", session(), "--to", agent, "--cwd", folder]] as const,
    ),
    ["rescue", () => ["rescue", session("claude-code"), "--dry-run"]],
    ["recall", () => ["recall", session("claude-code"), "value", "table"]],
    ["install", () => ["install", NAME, "--dry-run"]],
    ["uninstall", () => ["uninstall", NAME, "--dry-run"]],
    ["nothing named", () => []],
    ["nothing named, for a program", () => ["--json"]],
    ["cost", () => ["cost", session("claude-code")]],
    ["cost of a folder", () => ["cost", work, "--jobs", "1"]],
    ["cost for a program", () => ["cost", session("claude-code"), "--json"]],
    ["cost of a folder for a program", () => ["cost", work, "--jobs", "1", "--json"]],
    ["cost at prices that are not there", () => ["cost", session("claude-code"), "--models", NAME]],
    ["stats", () => ["stats", work]],
    ["stats for a program", () => ["stats", work, "--json"]],
    ["eval", () => ["eval", work, "--no-cache", "--jobs", "1", "--probes", "2", "--budget", "20k"]],
    ["forks", () => ["forks", "cancel", NAME, "--store", store]],
    ["listed forks", () => ["forks", "--store", store]],
    ["listed forks, for a program", () => ["forks", "--json", "--store", store]],
    ["undo", () => ["undo", "--session", NAME, "--store", store]],
    ["purge", () => ["purge", "--session", NAME, "--dry-run", "--store", store]],
    ["doctor", () => ["doctor", "--no-self-test", "--store", join(folder, HOSTILE.slice(0, 12))]],
    ["an unknown file", () => ["inspect", `${NAME}.json`]],
    ["an unknown command", () => [NAME]],
    ["an unknown option", () => ["stats", `--${NAME}`]],
    ["a wrong value", () => ["fork", session(), "--budget", NAME]],
    ["two wrong values", () => ["fork", session(), "--budget", "x\u001b[2J", "--as", "y\u001b[2J"]],
  ];

  // A process each: `npm test` starts one of every verb.
  const seen = new Set<string>();
  const chosen = verbs.filter(([name]) => {
    const verb = name.split(" ")[0] ?? "";
    return process.env.CARRYOVER_LONG !== undefined || verb === "fork" || (!seen.has(verb) && seen.add(verb));
  });

  it.concurrent.each(chosen)("%s", { timeout: 60_000 }, async (_name, args) => {
    const { status, stdout, stderr } = await carryover(args(), { env: { CLAUDE_CONFIG_DIR: home } });
    expect(status).not.toBe(1);
    expect(stdout + stderr).not.toBe("");
    expect(stdout).not.toMatch(/No forks are recorded|this is an example/);
    expect(commandsIn(stdout + stderr)).toEqual([]);
  });
});
