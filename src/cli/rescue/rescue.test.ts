import { createHash, randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  type BrokenSession,
  brokenSessions,
  codexCompactions,
  FACTS,
  talk,
} from "../../../test/rig/agents/broken-sessions.ts";
import { readTranscript } from "../../formats/read-transcript.ts";
import { writeClaudeCode } from "../../handoff/writers/claude-code.ts";
import { writeCodex } from "../../handoff/writers/codex.ts";
import { findFaults } from "../../transcript/format.ts";
import { type Transcript, textOf } from "../../transcript/message.ts";
import { outcomeText } from "../../transcript/part.ts";
import { type Rescued, type RescueFlags, rescue } from "./rescue.ts";

const home = mkdtempSync(join(tmpdir(), "carryover-rescue-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const HEAD = { cwd: home, at: 1_700_000_000_000, title: "A session", newId: () => randomUUID() };
const LONG_CHARS = 900_000;

async function rescued(content: BrokenSession["content"], flags: RescueFlags = {}): Promise<Rescued> {
  const id = randomUUID();
  const path = join(home, `${id}.jsonl`);
  writeFileSync(path, content({ ...HEAD, id }));
  const before = digestOf(path);
  const found = await rescue({ path, name: path }, flags, { HOME: home, PATH: "" });
  expect(digestOf(path), "the original is untouched").toBe(before);
  return found;
}

const digestOf = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");
const problemsOf = ({ diagnosis }: Rescued) => diagnosis.findings.map(({ problem }) => problem);
const lines = (values: readonly object[]): Buffer =>
  Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));

async function readBack({ delivered }: Rescued): Promise<Transcript> {
  return (await readTranscript(Buffer.from(delivered?.handed.content ?? ""))).transcript;
}

function everything(transcript: Transcript): string {
  return transcript
    .flatMap((message) => [
      textOf(message),
      ...message.parts.map((part) => (part.type === "tool" ? outcomeText(part.outcome) : "")),
    ])
    .join("\n");
}

describe("a broken session", () => {
  // OpenCode has to be asked which version it is: `npm run test:hosts` does that.
  const broken = brokenSessions(LONG_CHARS).filter(({ agent }) => !agent.startsWith("opencode"));

  it.each(broken)("$name", async ({ content, problems, isHarmless }) => {
    const found = await rescued(content, isHarmless ? { force: true } : {});
    expect(problemsOf(found)).toEqual(expect.arrayContaining([...problems]));
    const transcript = await readBack(found);
    expect(findFaults(transcript)).toEqual([]);
    const text = everything(transcript);
    expect(Object.values(FACTS).filter((fact) => !text.includes(fact))).toEqual([]);
    expect(text).toMatch(
      /^\[Rescued by Carryover from session .* recall .*'<words to look for, or a handle>'\]/,
    );
    // Half of a window, in tokens of about three and a half characters.
    expect(found.delivered?.handed.content.length).toBeLessThan(600_000);
  });

  it("is folded where even the shortest form of its messages does not fit", async () => {
    const talkative = talk("claude-code", 8_000).flatMap((turn) => [
      turn,
      ...(turn.role === "assistant" ? [] : Array.from({ length: 40 }, (_, index) => aside(index)).flat()),
    ]);
    const found = await rescued((head) => lines(writeClaudeCode(talkative, head)), { budget: 4_000 });
    expect(found.delivered?.handed.folded).toBeGreaterThan(50);
    const text = everything(await readBack(found));
    expect(text).toContain("[Previous conversation summary]");
    expect(text).toContain(FACTS.first);
    expect(text).toContain(FACTS.last);
  });

  it("keeps the calls of its own program as they are", async () => {
    const content: BrokenSession["content"] = (head) =>
      lines(
        writeClaudeCode(
          [
            { role: "user", blocks: [{ type: "text", text: "Search." }] },
            {
              role: "assistant",
              blocks: [{ type: "call", id: "c1", tool: "Grep", input: { pattern: "x" } }],
            },
            {
              role: "user",
              blocks: [{ type: "result", id: "c1", tool: "Grep", text: "a:1", isError: false }],
            },
          ],
          head,
        ),
      );
    const found = await rescued(content, { force: true });
    expect(found.delivered?.handed.content).toContain('"name":"Grep","input":{"pattern":"x"}');
  });
});

describe("a compaction that says something", () => {
  const once: BrokenSession["content"] = (head) => lines([...codexCompactions(head, 1, 2_000)]);

  it("is no loss, and stands for what was before it", async () => {
    expect(await rescued(once)).toMatchObject({ status: "healthy" });
    expect(everything(await readBack(await rescued(once, { force: true })))).not.toContain("ERROR E7731");
  });

  it("is taken back when that is asked for", async () => {
    const found = await rescued(once, { beforeCompaction: true });
    expect(problemsOf(found)).toContain("lost-compaction");
    expect(everything(await readBack(found))).toContain("ERROR E7731");
  });
});

describe("a session that can go on", () => {
  it("has nothing wrong with it", async () => {
    const found = await rescued((head) => lines(writeCodex(talk("codex", 4_000), head)));
    expect(found).toMatchObject({ status: "healthy", delivered: undefined });
    expect(found.diagnosis.findings).toEqual([]);
  });

  it("may have a call that still runs, and a line that is being written", async () => {
    const found = await rescued((head) =>
      Buffer.concat([
        lines(writeClaudeCode(talk("claude-code", 4_000).slice(0, 2), head)),
        Buffer.from('{"type":"user"'),
      ]),
    );
    expect(found.status).toBe("healthy");
    expect(found.diagnosis.findings).toMatchObject([{ problem: "damaged-line", severity: "note", line: 3 }]);
  });
});

const aside = (index: number) => [
  {
    role: "assistant" as const,
    blocks: [{ type: "text" as const, text: `Thought ${index}: ${"so ".repeat(20)}` }],
  },
  { role: "user" as const, blocks: [{ type: "text" as const, text: `And ${index}?` }] },
];
