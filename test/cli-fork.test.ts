import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatOf, readTranscript } from "../src/formats/read-transcript.ts";
import { boundFiles } from "./rig/bound-thinking/bound-files.ts";
import { buildCli } from "./rig/build-cli.ts";
import { cliSamples } from "./rig/cli-samples.ts";

const folder = mkdtempSync(join(tmpdir(), "carryover-cli-"));
const session = join(import.meta.dirname, "../examples/sessions/opencode-session.json");
let cli = "";

beforeAll(async () => {
  cli = await buildCli();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function carryover(args: readonly string[], input = "") {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], {
    input,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  return { status, stdout, stderr };
}

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** What a server that gives all calls one id leaves in OpenCode. */
function sameIdSession(): string {
  const info = (id: string, role: string) => ({ id, sessionID: "ses_1", role, time: { created: 1 } });
  const calls = [1, 2, 3, 4].map((number) => ({
    info: { ...info(`m${number}`, "assistant"), finish: "tool-calls", parentID: "m0" },
    parts: [
      {
        ...{ id: `p${number}`, sessionID: "ses_1", messageID: `m${number}`, type: "tool" },
        ...{ callID: "call_0", tool: "bash" },
        state: { status: "completed", input: { command: `run ${number}` }, output: `result ${number}.` },
      },
    ],
  }));
  const question = { info: info("m0", "user"), parts: [{ type: "text", text: "Look." }] };
  return JSON.stringify({ info: { id: "ses_1", title: "t" }, messages: [question, ...calls] });
}

describe("carryover fork", () => {
  it("shows what was inherited, what was cut and why, and the preamble", () => {
    const { status, stdout } = carryover(["fork", session, "--budget", "50000"]);
    expect(status).toBe(0);
    const readme = readFileSync(join(import.meta.dirname, "../docs/guide.md"), "utf8");
    const shown = /<!-- fork:start -->\n```\n([\s\S]*)\n```\n<!-- fork:end -->/.exec(readme)?.[1];
    expect(stdout).toBe(`${shown}\n\nAdd --text to print the whole of it, or --out <file> to write it.\n`);
  });

  it("prints what a child is sent", () => {
    const { stdout } = carryover(["fork", session, "--text"]);
    expect(stdout).toMatch(
      /^You are working with forked context[\s\S]*\n\n<inherited_context n="\w+">\nAgent:\n## Objective/,
    );
    expect(stdout).toMatch(/\n<\/inherited_context>\n$/);
  });

  it("prints text, stats and edits for a program", () => {
    const { text, stats, edits, preamble } = JSON.parse(carryover(["fork", session, "--json"]).stdout);
    expect(text.length).toBe(stats.totalChars);
    expect(edits.length).toBeGreaterThan(0);
    expect(preamble).toContain("Compaction summary included");
  });

  it.each(["text", "messages"])("hands over every result of calls that share an id: as %s", (form) => {
    const { stdout } = carryover(["fork", file("same-id.json", sameIdSession()), "--as", form]);
    expect(stdout.match(/result \d\./g)).toEqual(["result 1.", "result 2.", "result 3.", "result 4."]);
  });

  it.each(boundFiles({ model: "claude-opus-5-5", steps: 4 }).map(({ format, text }) => [format, text]))(
    "hands no thought over that a child's model would refuse: as messages of %s",
    (format, text) => {
      const { stdout } = carryover(["fork", file(`thoughts-${format}`, text ?? ""), "--as", "messages"]);
      expect(stdout).toContain("call_3");
      expect(stdout).not.toContain("Thought");
    },
  );

  it("reads standard input and a bare list of messages", () => {
    const { messages } = JSON.parse(readFileSync(session, "utf8"));
    const { status, stdout } = carryover(["fork", "-", "--text"], JSON.stringify(messages));
    expect(status).toBe(0);
    expect(stdout).toContain("<inherited_context>\n");
  });

  it("keeps the budget and writes the file whole", () => {
    const out = join(folder, "child.txt");
    const { status, stdout } = carryover(["fork", session, "--budget", "9_000", "--out", out]);
    expect(status).toBe(0);
    expect(stdout).toContain(`Full text written to ${out}`);
    const written = readFileSync(out, "utf8");
    expect(written.slice(written.indexOf("<inherited_context")).trimEnd().length).toBeLessThanOrEqual(9_000);
    expect(existsSync(`${out}.tmp`)).toBe(false);
  });

  it.each([
    {
      name: "cut off",
      content: '[\n  {"info": {}, "parts": [',
      says: /line 2, column \d+: .*\nThe file is not whole JSON/,
    },
    { name: "not JSON", content: "hello\nworld", says: /line 1, column 1: Unexpected token/ },
    { name: "empty", content: "  \n", says: /is empty\nWrite a session of OpenCode with/ },
    {
      name: "another kind of JSON",
      content: '{"a": 1}',
      says: /is JSON, but no transcript: .*\nExpected a session of OpenCode/,
    },
  ])("says what is wrong with a file that is $name, and where", ({ name, content, says }) => {
    const { status, stderr, stdout } = carryover(["fork", file(`${name}.json`, content)]);
    expect(status).toBe(2);
    expect(stderr).toMatch(says);
    expect(stdout).toBe("");
  });

  it.each([
    ["fork", "/does/not/exist"],
    ["fork", folderPath()],
    ["fork"],
    ["fork", "x", "--budget", "3"],
    ["fork", session, "--json", "--text"],
    ["fork", session, "--as", "messages", "--json"],
    ["fork", session, "--as", "poem"],
    ["nonsense"],
  ])("answers %s %s with a clear line and exit code 2", (...args) => {
    const { status, stderr } = carryover(args);
    expect(status).toBe(2);
    expect(stderr).toMatch(/error: \S/);
    expect(stderr).not.toMatch(/ at .*\.js:\d+/);
  });

  it("says that an empty session is empty", () => {
    const { status, stdout } = carryover([
      "fork",
      file("none.json", '{"info":{"id":"ses_1","title":"Nothing yet"},"messages":[]}'),
    ]);
    expect(status).toBe(0);
    expect(stdout).toBe("Nothing yet · ses_1: nothing to inherit, the session has no messages to show.\n");
  });

  it("reports broken messages and uses the rest", () => {
    const messages = [
      null,
      { info: { role: "user" } },
      { info: { role: "user" }, parts: [null, { type: "text", text: "still here" }] },
    ];
    const { status, stdout, stderr } = carryover(
      ["fork", "-", "--text"],
      JSON.stringify({ info: {}, messages }),
    );
    expect(status).toBe(0);
    expect(stderr).toContain("message 1 is not an object");
    expect(stderr).toContain("message 2 has no parts");
    expect(stdout).toContain("still here");
  });

  it.each(cliSamples().map((sample) => [sample.format, sample] as const))(
    "hands over %s as text and as messages of its own",
    async (format, sample) => {
      const path = file(sample.fileName, sample.text);
      const args = ["fork", path, "--budget", "9000"];
      const text = carryover([...args, "--text"]);
      expect(text.status).toBe(0);
      expect(text.stdout).toContain("</inherited_context>");
      const messages = carryover([...args, "--as", "messages"]);
      expect(messages.status).toBe(0);
      const inherited = await readTranscript(Buffer.from(messages.stdout));
      expect(inherited.format).toBe(format);
      expect(inherited.transcript.length).toBeGreaterThan(1);
      expect(messages.stdout.length).toBeLessThan(sample.text.length);
      const before = formatOf(format).faults((await readTranscript(Buffer.from(sample.text))).wire);
      expect(formatOf(format).faults(inherited.wire).length).toBeLessThanOrEqual(before.length);
      expect(readFileSync(path, "utf8")).toBe(sample.text);
    },
  );

  it("writes messages to a file and says so", async () => {
    const out = join(folder, "child.json");
    const { status, stdout } = carryover(["fork", session, "--as", "messages", "--out", out]);
    expect(status).toBe(0);
    expect(stdout).toContain(`written to ${out}`);
    expect((await readTranscript(readFileSync(out))).format).toBe("opencode");
  });

  it("has help with examples, a version, and no colours in a pipe", () => {
    expect(carryover(["fork", "--help"]).stdout).toContain(
      "opencode export ses_abc | carryover fork - --text",
    );
    expect(carryover(["--version"]).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(carryover(["fork", session]).stdout).not.toContain("\x1b[");
  });
});

function folderPath(): string {
  return tmpdir();
}
