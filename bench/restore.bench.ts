import type { SessionOptions } from "../src/session/options.ts";
import { createSession, type Session } from "../src/session/session.ts";
import type { Message, Transcript } from "../src/transcript/message.ts";
import { printTable } from "./measure.ts";

const MESSAGES = 3_000;
const ROUNDS = 9;
const LIMITS = { contextTokens: 200_000, outputTokens: 8_000 };
const MODEL = { provider: "anthropic", id: "claude-sonnet-4-5" };
const clock = { now: () => 1_000, sleep: () => new Promise<void>(() => {}) };
const summarizer = { summarize: async () => "## Goal\nIt went well." };

const CASES: Readonly<Record<string, SessionOptions>> = {
  default: { limits: LIMITS, model: MODEL },
  "default, 32,000 tokens": { limits: { contextTokens: 32_000, outputTokens: 4_000 }, model: MODEL },
  documented: { limits: LIMITS, model: MODEL, profile: "documented" },
};

/** Prints the cost of restoring a session, and of asking it when nothing is new. */
export async function benchRestore(): Promise<void> {
  const rows: string[][] = [
    [
      `${MESSAGES.toLocaleString("en")} messages`,
      "state KB",
      "restore ms",
      "first turn / observed",
      "first turn / lived",
      "ms",
      "asked again ms",
      "observed again ms",
    ],
    ["bar", "", "≤ 30", "≤ 1.5", "", "", "≤ 10", "≤ 10"],
  ];
  for (const [name, options] of Object.entries(CASES)) rows.push([name, ...(await measureCase(options))]);
  printTable("A session as a value: CPU time, medians of nine rounds in one process", rows);
}

/** Compares a session that observed all its messages with one that is restored before each of some more. */
async function measureCase(options: SessionOptions): Promise<readonly string[]> {
  const open = (): Session => createSession({ clock, summarizer }, options);
  const lived = open();
  let messages: Transcript = [];
  for (let index = 0; index < MESSAGES; index++) {
    messages = [...messages, messageAt(index)];
    lived.append(messageAt(index));
    await turnOf(lived);
  }
  const figures: Figures = { restore: [], fromStart: [], ratio: [], first: [], asked: [], observed: [] };
  let stateChars = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const text = JSON.stringify(lived);
    stateChars = text.length;
    // New objects, as in another process: no cache applies.
    const read = copyOf(messages);
    const parse = await cpuMillis(() => JSON.parse(text));
    const restored = open();
    const restore = await cpuMillis(() => restored.restore(read, JSON.parse(text)));
    const next = messageAt(MESSAGES + round);
    const first = await cpuMillis(() => turnWith(restored, next));
    const usual = await cpuMillis(() => turnWith(lived, next));
    // One that is given the same messages without a state.
    const fresh = open();
    fresh.observe(copyOf(messages));
    const fromStart = await cpuMillis(() => turnWith(fresh, next));
    messages = [...messages, next];
    const again = [...read, next];
    const copied = copyOf(again);
    figures.restore.push(restore - parse);
    figures.first.push(first);
    figures.fromStart.push(first / fromStart);
    figures.ratio.push(first / usual);
    figures.asked.push(await cpuMillis(() => ask(restored)));
    figures.observed.push(
      await cpuMillis(() => {
        restored.observe(copied);
        ask(restored);
      }),
    );
  }
  const { restore, fromStart, ratio, first, asked, observed } = figures;
  const fixed = (values: readonly number[]): string => median(values).toFixed(2);
  return [
    (stateChars / 1_000).toFixed(0),
    fixed(restore),
    `${fixed(fromStart)}x`,
    `${fixed(ratio)}x`,
    fixed(first),
    fixed(asked),
    fixed(observed),
  ];
}

type Figures = Readonly<Record<"restore" | "fromStart" | "ratio" | "first" | "asked" | "observed", number[]>>;

function turnWith(session: Session, message: Message): Promise<number> {
  session.append(message);
  return turnOf(session);
}

async function turnOf(session: Session): Promise<number> {
  await session.prepare({ moment: "after-turn" });
  return session.messages().length;
}

function ask(session: Session): number {
  return session.nextAction({ moment: "after-turn" }).type.length + session.messages().length;
}

async function cpuMillis(run: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

function messageAt(index: number): Message {
  const id = `m${index}`;
  if (index % 8 === 0) return { id, role: "user", parts: [{ type: "text", text: `request ${index}` }] };
  const output = `src/file-${index % 41}.ts:${index}: const value = compute(${index});\n`.repeat(
    5 + ((index * 37) % 60),
  );
  const outcome = { status: "done", output, attachments: [] } as const;
  const input = { filePath: `src/file-${index % 41}.ts` };
  return {
    id,
    role: "assistant",
    finish: "tool-calls",
    parts: [
      { type: "text", text: `Now file ${index % 41}.` },
      { type: "tool", callId: `c${index}`, tool: index % 3 === 0 ? "bash" : "read", input, outcome },
    ],
  };
}

function copyOf<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
}
