import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readInput } from "../../src/cli/files/read-input.ts";
import { explainCost } from "../../src/cost/explain-cost.ts";
import { readRequests } from "../../src/cost/read-requests.ts";
import { createInspectedSession } from "../../src/inspector/view/inspected-session.ts";
import type { InspectedSession } from "../../src/inspector/view/types.ts";

/** A made session in Claude Code's format with all that a long one has: three compactions, cache misses, dollars. Read as the command line reads a file. */
export async function madeSession(): Promise<InspectedSession> {
  const folder = mkdtempSync(join(tmpdir(), "carryover-made-"));
  try {
    const file = join(folder, "session.jsonl");
    writeFileSync(
      file,
      madeLines()
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
    );
    const input = await readInput(file, "window");
    return createInspectedSession(
      {
        name: "session.jsonl",
        title: "Move the invoices to the new ledger",
        format: input.format,
        transcript: input.transcript,
        problems: [],
        window: { tokens: 200_000, isKnown: true },
        cost: explainCost(readRequests(await readInput(file))),
      },
      "redacted",
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const REQUESTS = 210;
const SYSTEM_TOKENS = 24_000;
const FULL_TOKENS = 168_000;
const CHARS_A_TOKEN = 4;
const CACHE_LIVES_MINUTES = 5;

function madeLines(): readonly object[] {
  const lines: object[] = [];
  let parentUuid: string | null = null;
  let nowMs = Date.parse("2026-11-16T09:00:00Z");
  let windowTokens = SYSTEM_TOKENS;
  let cachedTokens = 0;
  const say = (line: object): void => {
    const uuid = `line-${lines.length}`;
    lines.push({ ...line, uuid, parentUuid, timestamp: new Date(nowMs).toISOString(), sessionId: "made" });
    parentUuid = uuid;
  };
  const ask = (content: unknown, chars: number): void => {
    say({ type: "user", message: { role: "user", content } });
    windowTokens += Math.round(chars / CHARS_A_TOKEN);
  };
  ask(GOAL, GOAL.length);
  for (let at = 0; at < REQUESTS; at += 1) {
    const pauseMinutes = at === 47 || at === 139 ? 25 : 0.6;
    nowMs += pauseMinutes * 60_000;
    if (windowTokens > FULL_TOKENS) {
      const summary = code(at, 26_000);
      lines.push({
        type: "system",
        subtype: "compact_boundary",
        uuid: `compaction-${at}`,
        parentUuid: null,
        logicalParentUuid: parentUuid,
        timestamp: new Date(nowMs).toISOString(),
      });
      parentUuid = `compaction-${at}`;
      windowTokens = SYSTEM_TOKENS + summary.length / CHARS_A_TOKEN;
      cachedTokens = 0;
      say({ type: "user", isCompactSummary: true, message: { role: "user", content: summary } });
    }
    const { tool, input, chars } = stepAt(at);
    const thinking = `${THOUGHT} ${code(at, at % 4 === 0 ? 3_200 : 700)}`;
    const words = WORDS[at % WORDS.length] ?? "";
    const readTokens = pauseMinutes > CACHE_LIVES_MINUTES || at === 96 ? 0 : cachedTokens;
    const content = [
      { type: "thinking", thinking, signature: "" },
      { type: "text", text: words },
      { type: "tool_use", id: `call-${at}`, name: tool, input },
    ];
    const answerTokens = Math.round(
      (thinking.length + words.length + JSON.stringify(input).length) / CHARS_A_TOKEN,
    );
    say({
      type: "assistant",
      message: {
        id: `msg-${at}`,
        role: "assistant",
        model: "claude-opus-4-6",
        content,
        usage: {
          input_tokens: 2,
          output_tokens: answerTokens,
          cache_read_input_tokens: readTokens,
          cache_creation_input_tokens: windowTokens - readTokens,
        },
      },
    });
    cachedTokens = windowTokens;
    windowTokens += answerTokens;
    const output = `${tool === "Bash" ? "412 tests, 3 failed" : "// one entry a line"}\n${code(at, chars)}`;
    ask([{ type: "tool_result", tool_use_id: `call-${at}`, content: output }], output.length);
  }
  return lines;
}

interface Step {
  readonly tool: string;
  readonly input: object;
  /** Of its output. */
  readonly chars: number;
}

function stepAt(at: number): Step {
  const file_path = `src/${FILES[(at * 3) % FILES.length]}`;
  if (at % 23 === 7) return { tool: "Bash", input: { command: "npm test" }, chars: 62_000 };
  if (at % 5 === 2)
    return {
      tool: "Edit",
      input: { file_path, old_string: code(at, 1_400), new_string: code(at + 1, 3_600) },
      chars: 160,
    };
  if (at % 5 === 4) return { tool: "Grep", input: { pattern: "postEntry", path: "src" }, chars: 2_600 };
  return { tool: "Read", input: { file_path }, chars: 3_000 + ((at * 7_919) % 9_000) };
}

const GOAL =
  "Move all invoices to the new ledger. Amounts are integer cents everywhere, no entry may be posted twice, and the old tables stay readable until the last report was compared.";
const THOUGHT = "An entry is the same when invoice and line are the same, whatever the job.";
const FILES = ["ledger.ts", "invoices/post.ts", "invoices/read.ts", "reports/compare.ts", "money.ts"];
const WORDS = [
  "The ledger posts twice when a job is run again; I look at the key first.",
  "Now the reports, which still read the old tables.",
  "That test fails for refunds only.",
];

/** So many characters that look like a program, others for each number. */
function code(seed: number, chars: number): string {
  const lines: string[] = [];
  for (let length = 0, at = 0; length < chars; at += 1) {
    const line = `  const entry${seed}_${at} = postEntry({ account: "${4000 + ((seed * 31 + at) % 900)}", cents: ${(seed * 97 + at * 13) % 10_000} });`;
    lines.push(line);
    length += line.length + 1;
  }
  return lines.join("\n").slice(0, chars);
}
