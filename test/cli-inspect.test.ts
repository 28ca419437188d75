import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildCli } from "./rig/build-cli.ts";
import { cliSamples } from "./rig/cli-samples.ts";
import { createCliRunner } from "./rig/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "carryover-inspect-"));
const samples = cliSamples();
let cli = "";
const carryover = createCliRunner(() => cli);

beforeAll(async () => {
  cli = await buildCli("cli-inspect");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

async function inspect(path: string, input?: string | Uint8Array) {
  const { status, stdout, stderr } = await carryover(
    ["inspect", path, "--json"],
    input === undefined ? {} : { input },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.not.stringMatching(/error|fault/) });
  return JSON.parse(stdout);
}

describe("carryover inspect", () => {
  it("shows what the README shows", async () => {
    const root = resolve(import.meta.dirname, "..");
    const session = join(root, "examples/sessions/opencode-session.json");
    const { status, stdout } = await carryover(["inspect", session, "--top", "4"]);
    expect(status).toBe(0);
    const readme = readFileSync(join(root, "docs/guide.md"), "utf8");
    const shown = /<!-- example:start -->\n```\n([\s\S]*)\n```\n<!-- example:end -->/.exec(readme)?.[1];
    expect(stdout).toBe(`${shown}\n`);
  });

  it.each(samples.map((sample) => [sample.format, sample] as const))("reads %s", async (format, sample) => {
    const found = await inspect(file(sample.fileName, sample.text));
    expect(found).toMatchObject({ format, toolResults: found.window.toolResults });
    expect(found.toolResults).toBeGreaterThanOrEqual(24);
    expect(found.messages).toBeGreaterThan(24);
    expect(found.chars).toBeGreaterThan(20_000);
    expect(found.tokens).toBeGreaterThan(found.tokensLow);
    expect(found.tokens).toBeLessThan(found.tokensHigh);
    expect(found.byTool[0]).toMatchObject({ tool: format === "swe-agent" ? "bash" : "read", failed: 0 });
    expect(found.byKind[0]).toMatchObject({ kind: "tool output" });
    expect(found.largest).toHaveLength(10);
  });

  it("says the same of a gzipped file and of standard input", async () => {
    for (const { fileName, text } of samples.slice(0, 1)) {
      const { file: _, ...plain } = await inspect(file(fileName, text));
      const { file: __, ...packed } = await inspect(file(`${fileName}.gz`, gzipSync(text)));
      const { file: ___, ...piped } = await inspect("-", text);
      const { file: ____, ...packedAndPiped } = await inspect("-", gzipSync(text));
      for (const other of [packed, piped, packedAndPiped]) expect(other).toEqual(plain);
    }
  });

  it("shows a person what fills the window", async () => {
    const [, claudeCode] = samples;
    const { stdout } = await carryover(["inspect", file("shown.jsonl", claudeCode?.text ?? "")]);
    for (const heading of ["Window", "What fills it", "By tool", "By file", "Largest", "Read again"])
      expect(stdout).toContain(`\n${heading}\n`);
    expect(stdout).toMatch(/\n {2}src\/table-0\.ts +\d+ % +[\d,]+ tokens +2 reads\n/);
    expect(stdout).toMatch(/\n {2}src\/table-0\.ts +1 time +[\d,]+ chars\n/);
    expect(stdout).not.toContain("\x1b[");
  });

  it.each([["inspect", "--top", "4"], ["compact"]])(
    "prints what the documentation shows of %s",
    async (command, ...flags) => {
      const session = "examples/sessions/opencode-session.json";
      const { stdout } = await carryover([
        command ?? "",
        resolve(import.meta.dirname, "..", session),
        ...flags,
      ]);
      const shown = `$ carryover ${[command, session, ...flags].join(" ")}\n${stdout}\`\`\`\n`;
      expect(readFileSync(join(import.meta.dirname, "../docs/cli.md"), "utf8")).toContain(shown);
    },
  );

  it("counts secrets by kind and shows none", async () => {
    const key = ["sk", "ant", "api03", "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0LzXcVbNmQwErTy"].join("-");
    const messages = [
      { info: { id: "a", role: "user" }, parts: [{ type: "text", text: `export ANTHROPIC_API_KEY=${key}` }] },
      {
        info: { id: "b", role: "assistant" },
        parts: [
          {
            type: "tool",
            tool: key,
            callID: "c",
            state: { status: "completed", input: { path: key }, output: key },
          },
        ],
      },
    ];
    const path = file("secret.json", JSON.stringify({ info: { id: "ses", title: `uses ${key}` }, messages }));
    const { stdout } = await carryover(["inspect", path]);
    expect(stdout).toMatch(/\nSecrets\n {2}\S+ +\d+/);
    expect(stdout).not.toContain(key);
    expect((await inspect(path)).secrets[0].count).toBeGreaterThanOrEqual(3);
  });

  it("passes no escape sequence of a session on to the terminal", async () => {
    const messages = [
      { info: { id: "\x1b[31mred", role: "user" }, parts: [{ type: "text", text: "hello" }] },
    ];
    const path = file("escapes.json", JSON.stringify({ info: { title: "\x1b]0;owned\x07title" }, messages }));
    expect((await carryover(["inspect", path])).stdout).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
  });

  it("uses what is whole of a file with broken lines, and names them", async () => {
    const lines = (samples[1]?.text ?? "").split("\n");
    const path = file(
      "torn.jsonl",
      [...lines.slice(0, 10), "{broken", ...lines.slice(10, -2), '{"type":"us'].join("\n"),
    );
    const { status, stdout, stderr } = await carryover(["inspect", path, "--json"]);
    expect(status).toBe(0);
    expect(stderr).toMatch(/torn\.jsonl: line 11 is not-json: .*; the rest is used\n/);
    expect(stderr).toMatch(/line \d+ is torn: /);
    expect(JSON.parse(stdout).problems).toHaveLength(2);
  });

  it.each([
    { name: "empty", content: "", says: /is empty/ },
    { name: "binary", content: new Uint8Array([1, 0, 2, 0]), says: /is not a text file/ },
    {
      name: "half a gzip",
      content: gzipSync("{}\n".repeat(1000)).subarray(0, 20),
      says: /its gzip is broken/,
    },
    {
      name: "lines of another kind",
      content: '{"a":1}\n{"a":2}\n{"a":3}\n',
      says: /has JSON lines, but no transcript/,
    },
    { name: "prose", content: "hello\nworld\n", says: /line 1, column 1: Unexpected token/ },
    { name: "a number", content: "7", says: /is JSON, but no transcript/ },
  ])("says what is wrong with a file that is $name", async ({ name, content, says }) => {
    const { status, stdout, stderr } = await carryover(["inspect", file(name, content)]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/ at .*\.js:\d+/);
  });

  it("takes a word that is no command for a file, and says so", async () => {
    const { status, stderr } = await carryover(["isnpect"]);
    expect(status).toBe(2);
    expect(stderr).toMatch(/no command, no file and no session isnpect\nDid you mean inspect\?/);
    expect((await carryover(["nosuch"])).stderr).toMatch(/\nKnown are inspect, fork, .*purge, completion\n/);
    expect((await carryover(["inspect", "a12"])).stderr).toContain("the first 4 characters are needed");
  });
});

describe("carryover without arguments", () => {
  const [openCode, claudeCode, codex, pi] = samples.map(({ text }) => text);
  const homes = (name: string) => join(folder, "homes", name);

  it("shows an example where there is no session", async () => {
    const { status, stdout } = await carryover([]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^No session of OpenCode, Claude Code, Codex or pi is here; this is an example\n/);
    expect(stdout).toContain("Invoice totals are a cent off");
    const table = await carryover(["inspect"]);
    expect(table.stdout).toContain("src/invoice.mjs");
  });

  it("passes over newer sessions that are empty or broken, and says so", async () => {
    const home = homes("passed-over");
    const good = file("homes/passed-over/.claude/projects/p/good.jsonl", claudeCode ?? "");
    const broken = file("homes/passed-over/.claude/projects/p/broken.jsonl", "{half");
    const [meta = ""] = (codex ?? "").split("\n");
    const started = file("homes/passed-over/.codex/sessions/2026/01/05/rollout-2.jsonl", `${meta}\n`);
    file("homes/passed-over/.claude/projects/p/empty.jsonl", "");
    for (const [index, path] of [good, broken, started].entries())
      utimesSync(path, 1_900_000_000 + index, 1_900_000_000 + index);
    const { status, stdout, stderr } = await carryover([], { env: { HOME: home } });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^The newest session on this machine, of Claude Code: .*good\.jsonl$/m);
    expect(stdout).toMatch(/^a newer session of Codex is passed over: nothing was said in rollout-2/m);
  });

  it("finds the newest session, whosever it is, and says which", async () => {
    const home = homes("all");
    const places = {
      "Claude Code": [".claude/projects/p/one.jsonl", claudeCode],
      Codex: [".codex/sessions/2026/01/05/rollout-1.jsonl", codex],
      pi: [".pi/agent/sessions/p/one.jsonl", pi],
    } as const;
    for (const [place, text] of Object.values(places)) file(join("homes/all", place), text ?? "");
    file("homes/all/.claude/projects/p/agent-7.jsonl", claudeCode ?? "");
    for (const [index, [agent, [place]]] of Object.entries(places).entries()) {
      utimesSync(join(home, place), 2_000_000_000 + index, 2_000_000_000 + index);
      const { stdout } = await carryover(["--json"], { env: { HOME: home } });
      expect(JSON.parse(stdout).file).toBe(join(home, place));
      const shown = await carryover([], { env: { HOME: home } });
      const [head = ""] = shown.stdout.split("\n");
      expect(head).toContain(`The newest session on this machine, of ${agent}: `);
      expect(head.endsWith(basename(place))).toBe(true);
    }
  });

  it("reads what older versions of OpenCode stored in files", async () => {
    const { info, messages } = JSON.parse(openCode ?? "");
    const storage = "homes/old/.local/share/opencode/storage";
    const session = { ...info, id: "ses_old", title: "From files" };
    file(join(storage, "session/project/ses_old.json"), JSON.stringify(session));
    for (const [index, message] of messages.entries()) {
      const id = `msg_${String(index).padStart(3, "0")}`;
      file(join(storage, `message/ses_old/${id}.json`), JSON.stringify({ ...message.info, id }));
      for (const [at, part] of message.parts.entries())
        file(join(storage, `part/${id}/prt_${at}.json`), JSON.stringify(part));
    }
    file(join(storage, "message/ses_old/msg_999.json"), "{half");
    const { stdout } = await carryover(["--json"], { env: { HOME: homes("old") } });
    expect(JSON.parse(stdout)).toMatchObject({
      title: "From files",
      messages: messages.length,
      format: "opencode",
    });
  });

  it("asks OpenCode itself for what is in its database", async () => {
    const home = homes("database");
    file("homes/database/.local/share/opencode/opencode.db", "SQLite format 3");
    const session = file("homes/database/session.json", openCode ?? "");
    const fake = file(
      "homes/database/bin/opencode",
      `#!/bin/sh\n[ "$1" = db ] && echo '[{"id":"ses_1"}]' || cat '${session}'\n`,
    );
    chmodSync(fake, 0o755);
    const PATH = `${join(home, "bin")}:${process.env.PATH}`;
    const { stdout } = await carryover(["--json"], { env: { HOME: home, PATH } });
    expect(JSON.parse(stdout)).toMatchObject({
      format: "opencode",
      file: expect.stringContaining("opencode.db"),
    });
  });

  it("says why a database cannot be read, and goes on to the next", async () => {
    const home = homes("no-program");
    file("homes/no-program/.local/share/opencode/opencode.db", "SQLite format 3");
    const other = file("homes/no-program/.pi/agent/sessions/p/one.jsonl", pi ?? "");
    utimesSync(other, 1, 1);
    const env = { HOME: home, PATH: "/nowhere" };
    const { status, stdout } = await carryover([], { env });
    expect(status).toBe(0);
    expect(stdout).toContain("of pi: ");
    expect(stdout).toContain("of OpenCode is passed over: neither opencode nor opencode2");
    const { stderr } = await carryover(["inspect"], { env });
    expect(stderr).toContain("neither opencode nor opencode2, which read its database, is on the PATH");
  });
});

const corpus = resolve(import.meta.dirname, "../../shared/eval/corpus");
const isThere = existsSync(join(corpus, "manifest.json"));
if (!isThere) console.log("cli-inspect: skipped, ../shared/eval/corpus is not there");
const open: readonly { readonly file: string; readonly format: string; readonly split: string }[] = isThere
  ? JSON.parse(readFileSync(join(corpus, "manifest.json"), "utf8"))
  : [];

// The first of each format and every fourth; all of them are read with CARRYOVER_LONG.
const sessions = open
  .filter(({ split }) => split === "dev")
  .filter(
    ({ format }, index, all) =>
      process.env.CARRYOVER_LONG !== undefined ||
      index % 4 === 0 ||
      all.findIndex((session) => session.format === format) === index,
  );

describe.skipIf(!isThere)("carryover inspect on the corpus", () => {
  it.each(sessions.map(({ file: name, format }) => [name, format]))("reads %s", async (name, format) => {
    const found = await inspect(join(corpus, name ?? ""));
    expect(found).toMatchObject({ format });
    for (const field of ["messages", "toolResults", "chars", "tokens"])
      expect(found[field]).toBeGreaterThan(0);
  });
});
