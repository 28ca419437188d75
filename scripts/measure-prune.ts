import { readFileSync } from "node:fs";
import { readEvalSession } from "../src/cli/eval/run-eval.ts";
import { findTranscriptFiles } from "../src/cli/files/find-files.ts";
import { isStep } from "../src/eval/probe/next-use.ts";
import { splitAtCompactions } from "../src/eval/probe/places.ts";
import { createSession, type Session } from "../src/session/session.ts";
import { groupBy } from "../src/text/group-by.ts";
import { toolResults } from "../src/transcript/content.ts";
import { estimateMessageTokens } from "../src/transcript/estimate-message.ts";
import type { Message, Transcript } from "../src/transcript/message.ts";

// What the pruning of a session does to recorded sessions, step by step, with default options:
// node scripts/run-ts.mjs scripts/measure-prune.ts <folder of recorded sessions>

interface Pruned {
  readonly format: string;
  readonly results: number;
  readonly wholeTokens: number;
  /** Without reasoning, which stays with its message and is never shortened. */
  readonly bareTokens: number;
  readonly batches: number;
  readonly edits: number;
  readonly sentTokens: number;
}

const MODEL = { provider: "anthropic", id: "claude-sonnet-4-5" } as const;
const SIZES: readonly (readonly [name: string, fromTokens: number])[] = [
  ["over 100k", 100_000],
  ["50k–100k", 50_000],
  ["26k–50k", 26_000],
  ["20k–26k", 20_000],
  ["under 20k", 0],
];

const folders = process.argv.slice(2).filter((argument) => argument !== "--each");
if (folders.length === 0) {
  console.error("usage: node scripts/run-ts.mjs scripts/measure-prune.ts <folder of recorded sessions>");
  process.exit(2);
}
const measured: Pruned[] = [];
for (const name of await findTranscriptFiles(folders)) {
  const file = await readEvalSession(readFileSync(name), { name, branches: "file" });
  if (file.status === "unreadable") continue;
  measured.push(await replay(file.session.format, splitAtCompactions(file.session.transcript).flat()));
}
printTable();

/** Replays what the plugin does with `prune: "auto"`: it looks at the conversation before every request. */
async function replay(format: string, recorded: Transcript): Promise<Pruned> {
  const messages = recorded.map(asSent);
  let nowMs = 0;
  const session = openSession(() => nowMs);
  let atMs: number | undefined;
  for (const [index, message] of messages.entries()) {
    if (!isStep(message)) continue;
    const idleMs = atMs === undefined || message.createdAt === undefined ? 0 : message.createdAt - atMs;
    nowMs += Math.max(0, idleMs);
    session.observe(messages.slice(0, index));
    await session.prepare({ moment: "after-turn", idleMs: Math.max(0, idleMs) });
    atMs = message.createdAt ?? atMs;
  }
  const { batches } = session.status();
  return {
    format,
    results: toolResults(messages).length,
    wholeTokens: tokensOf(messages),
    bareTokens: tokensOf(messages.map(withoutReasoning)),
    batches: batches.length,
    edits: batches.reduce((sum, { edits }) => sum + edits.length, 0),
    sentTokens: tokensOf(session.messages()),
  };
}

/** Without usage and summaries, which belong to the window that was really sent. */
function asSent({ usage: _, summary: __, metadata: ___, ...message }: Message): Message {
  return message;
}

function withoutReasoning({ parts, ...message }: Message): Message {
  return { ...message, parts: parts.filter(({ type }) => type !== "reasoning") };
}

function openSession(now: () => number): Session {
  return createSession(
    { clock: { now, sleep: () => new Promise(() => {}) } },
    {
      model: MODEL,
      limits: { contextTokens: 200_000, outputTokens: 32_000 },
      // As in the plugin: the agent trims its outputs and compacts by itself.
      toolOutput: "off",
      compactAt: "never",
    },
  );
}

function tokensOf(messages: Transcript): number {
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
}

function printTable(): void {
  const bySize = groupBy(measured, ({ bareTokens }) => SIZES.find(([, from]) => bareTokens >= from)?.[0]);
  console.log("| size | format | sessions | pruned | batches | edits | tokens at the end, of all |");
  console.log("|---|---|---|---|---|---|---|");
  for (const [size] of SIZES) {
    const byFormat = groupBy(bySize.get(size) ?? [], ({ format }) => format);
    for (const [format, sessions] of [...byFormat].sort(([one], [other]) => one.localeCompare(other))) {
      const sum = (key: "batches" | "edits" | "sentTokens" | "wholeTokens"): number =>
        sessions.reduce((total, session) => total + session[key], 0);
      const pruned = sessions.filter(({ edits }) => edits > 0).length;
      const share = (sum("sentTokens") / Math.max(1, sum("wholeTokens"))).toFixed(2);
      console.log(
        `| ${size} | ${format} | ${sessions.length} | ${pruned} | ${sum("batches")} | ${sum("edits")} | ${share} |`,
      );
    }
  }
  if (!process.argv.includes("--each")) return;
  for (const session of measured) console.log(JSON.stringify(session));
}
