import { describe, expect, it } from "vitest";
import { linesOf, next, START, text } from "../../../test/rig/cache-session.ts";
import { readBytes } from "../files/read-input.ts";
import type { FoundSession } from "../sessions/find-newest-session.ts";
import { displayWidth } from "../terminal/table.ts";
import { overviewLines } from "./overview.ts";

const PLAIN = { bold: (each: string) => each, red: (each: string) => each, dim: (each: string) => each };

async function foundSession(requests: readonly (typeof START)[], title = "Invoices"): Promise<FoundSession> {
  const lines = [{ type: "custom-title", customTitle: title, sessionId: "s" }, ...linesOf(requests)];
  const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const file = await readBytes(bytes, "/home/you/.claude/projects/p/0c3182b1.jsonl");
  return { file, found: `The newest session on this machine, of Claude Code: ${file.name}`, skipped: [] };
}

function conversation(length: number): readonly (typeof START)[] {
  const requests = [START];
  for (let number = 3; requests.length < length; number++)
    requests.push(next(requests.at(-1) ?? START, number));
  return requests;
}

describe("the overview", () => {
  it("shows window, growth, cost with its causes, and what to do next", async () => {
    const grown = conversation(12);
    const last = grown.at(-1) ?? START;
    const requests = [
      ...grown,
      { ...last, pauseMinutes: 30 },
      { ...last, compacted: true as const, messages: [text("summary", 3_000)] },
    ];
    const screen = overviewLines(await foundSession(requests), { colors: PLAIN, columns: 80 }).join("\n");
    expect(screen).toContain("Window  ");
    expect(screen).toMatch(/█ system and tools \d+ %/);
    expect(screen).toMatch(/^Over time {2}14 requests, ▼ 1 compaction, ! cache missed 1 time$/m);
    expect(screen).toMatch(/^ +!▼$/m);
    expect(screen).toMatch(/^Cost {2}\$0\.\d+ for 14 requests, \$0\.\d+ \(\d+ %\) of it for cache misses$/m);
    expect(screen).toMatch(/^ {2}\$0\.\d+ idle too long, 1 time: compact or start a new session$/m);
    expect(screen).toMatch(/^ {2}carryover --open /m);
  });

  it.each([
    { name: "one request", requests: 1, columns: 80 },
    { name: "three hundred requests", requests: 300, columns: 80 },
    {
      name: "a title in wide letters",
      requests: 3,
      columns: 80,
      title: "請求書の合計が一円ずれている。原因を調べて直してください。".repeat(3),
    },
    { name: "a title of pictures", requests: 3, columns: 80, title: "🎉👩‍💻e\u0301".repeat(40) },
    { name: "a narrow terminal", requests: 30, columns: 50 },
    { name: "a wide terminal", requests: 30, columns: 200 },
  ])("is one screen of at most 80 columns and 24 rows: $name", async ({ requests, columns, title }) => {
    const found = await foundSession(conversation(requests), title);
    const skipped = ["a newer session of Codex is passed over: /home/you/.codex/x.jsonl is empty", "another"];
    const lines = overviewLines({ ...found, skipped }, { colors: PLAIN, columns });
    expect(lines.length).toBeLessThan(24);
    expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(Math.min(80, columns));
    expect(lines.every((line) => !line.includes("\n"))).toBe(true);
    expect(lines[1]).toMatch(/passed over: x.jsonl is empty|^a newer/);
    expect(lines.at(-1)).toContain("carryover ");
  });

  it("says beside an example all of why no session was read", async () => {
    const found = await foundSession(conversation(1));
    const reason = `a newer session of OpenCode is passed over: ${"no program ".repeat(9)}OPENCODE_BIN names it`;
    const given = { ...found, skipped: [reason], isExample: true } as const;
    const lines = overviewLines(given, { colors: PLAIN, columns: 80 });
    expect(lines.join(" ")).toContain("OPENCODE_BIN names it");
  });
});
