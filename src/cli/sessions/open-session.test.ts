import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openNamedSession, sessionPath } from "./open-session.ts";

const home = mkdtempSync(join(tmpdir(), "carryover-named-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const env = { HOME: home, PATH: [home, "/usr/bin", "/bin"].join(delimiter) };

function put(path: string, text = ""): string {
  const whole = join(home, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, text);
  return whole;
}

const claude = put(".claude/projects/-home-you/0240bd7a-1111-4222-8333-444455556666.jsonl");
const child = put(
  ".claude/projects/-home-you/0240bd7a-1111-4222-8333-444455556666/subagents/agent-ab025fe7.jsonl",
);
put(".claude/projects/-home-you/0240bd7a-1111-4222-8333-444455556666/tool-results/0240bd7a.txt");
const day = ".codex/sessions/2026/11/16/rollout-2026-11-16T11-12-14";
const codex = put(`${day}-01a1e40e-c1fd-7442-bbab-9a473e10b535.jsonl`);
put(`${day}-01a1e40e-c1fd-7442-bbab-9a473e10b535.jsonl.zst`);
const packed = put(`${day}-01a1e40f-c1fd-7442-bbab-9a473e10b535.jsonl.zst`);
const pi = put(".pi/agent/sessions/--home-you--/2026-11-16T11-12-14-000Z_77aa0000-1111-4222.jsonl");

it.each([
  ["an id of Claude Code", "0240bd7a-1111-4222-8333-444455556666", claude],
  ["the beginning of one", "0240bd7a", claude],
  ["a sub-agent by its own id", "ab025fe7", child],
  ["the file that Codex has unpacked", "01a1e40e", codex],
  ["one that is still packed", "01a1e40f", packed],
  ["a session of pi", "77aa", pi],
])("names a session: %s", async (_, named, path) => {
  expect(await sessionPath(named, env)).toBe(path);
});

it("names none: a path, standard input, too few letters, what no session is called", async () => {
  for (const named of [claude, "-", "024", "never-heard", "./0240bd7a", "ses_1"])
    expect(await sessionPath(named, env)).toBe(named);
});

it("asks for more of an id that several begin with", async () => {
  await expect(sessionPath("01a1", env)).rejects.toMatchObject({
    message: "01a1 is the beginning of 2 session ids",
    advice: [
      expect.stringContaining("Codex: 01a1e40"),
      expect.stringContaining("01a1e40"),
      "Name more of it.",
    ],
  });
});

it("exports a session of OpenCode by its id, as each version wants it", async () => {
  const program = put(
    "opencode",
    `#!/bin/sh
case "$1$2" in
  --version) echo 2.0.1;;
  export--standalone) echo "{\\"info\\":{\\"id\\":\\"$3\\",\\"location\\":{}},\\"messages\\":[]}";;
  *) exit 1;;
esac
`,
  );
  chmodSync(program, 0o755);
  expect((await openNamedSession("ses_abc", { env })).file).toMatchObject({
    sessionId: "ses_abc",
    format: "opencode",
  });
});
