import { opencode } from "../src/formats/wires/opencode/opencode.ts";
import type { SessionOptions } from "../src/session/options.ts";
import { createSession, type Session } from "../src/session/session.ts";
import type { Message, Transcript } from "../src/transcript/message.ts";
import { generateSession, generateTexts } from "./generate-session.ts";
import { printTable } from "./measure.ts";

const MESSAGES = 10_000;
/** Nothing in here waits for anybody. */
const clock = { now: () => 1_000, sleep: () => new Promise<void>(() => {}) };
const ROOMY: SessionOptions = {
  limits: { contextTokens: 500_000_000, outputTokens: 8_000 },
};
const USUAL: SessionOptions = { limits: { contextTokens: 200_000, outputTokens: 8_000 } };

/** Prints what one more message costs, and that a long session costs as much a turn as a short one. */
export async function benchSession(): Promise<void> {
  await benchMessage();
  await benchTurns();
}

/** What one more message costs, with the decision and the projection, beside a JSON round trip of everything. */
async function benchMessage(): Promise<void> {
  const withTools = opencode.decode(generateSession({ messages: MESSAGES, toolResults: MESSAGES * 0.75 }));
  const textOnly = opencode.decode(generateTexts(MESSAGES, 300));
  const rows: string[][] = [["one message more", "MB", "append + nextAction + projection / JSON", "bar"]];
  const cases: readonly SessionCase[] = [
    { name: "10,000 messages of 300 chars, nothing due", base: textOnly, options: ROOMY, feed: "append" },
    { name: "10,000 messages, 7,500 results, nothing due", base: withTools, options: ROOMY, feed: "append" },
    {
      name: "the same, after the turn",
      base: withTools,
      options: ROOMY,
      feed: "append",
      moment: "after-turn",
    },
    { name: "the same, observed as a whole list", base: withTools, options: ROOMY, feed: "observe" },
    { name: "the same, compacted into 200,000 tokens", base: withTools, options: USUAL, feed: "append" },
  ];
  for (const each of cases) {
    const json = () => JSON.parse(JSON.stringify(each.base)) as unknown;
    const grow = await growing(each);
    grow();
    const ratio = cpuMillis(grow, 300) / cpuMillis(json, 3);
    const megabytes = JSON.stringify(each.base).length / 1e6;
    rows.push([each.name, megabytes.toFixed(1), `${ratio.toFixed(4)}x`, "≤ 0.02"]);
  }
  printTable(
    "A session of 10,000 messages with one message appended, against JSON.parse + JSON.stringify",
    rows,
  );
}

interface SessionCase {
  readonly name: string;
  readonly base: Transcript;
  readonly options: SessionOptions;
  readonly feed: "append" | "observe";
  readonly moment?: "before-call" | "after-turn";
}

function cpuMillis(run: () => unknown, times: number): number {
  const start = process.cpuUsage();
  for (let time = 0; time < times; time++) run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000 / times;
}

/** A function that adds one message and asks for the action and the projection. */
async function growing({ base, options, feed, moment = "before-call" }: SessionCase): Promise<() => number> {
  const session = await started(base, options);
  let list: Message[] = [...base];
  let count = 0;
  return () => {
    const message = nextMessage(count++);
    if (feed === "append") session.append(message);
    else {
      list = [...list, message];
      session.observe(list);
    }
    const action = session.nextAction({ moment });
    return session.projection().length + action.type.length;
  };
}

async function started(base: Transcript, options: SessionOptions): Promise<Session> {
  const session = createSession({ clock }, options);
  session.observe(base);
  await session.prepare();
  return session;
}

function nextMessage(count: number): Message {
  const id = `new-${count}`;
  if (count % 8 === 0) return { id, role: "user", parts: [{ type: "text", text: `request ${count}` }] };
  const outcome = { status: "done", output: `line ${count}\n`.repeat(100), attachments: [] } as const;
  return {
    id,
    role: "assistant",
    finish: "tool-calls",
    parts: [
      { type: "tool", callId: `call-${id}`, tool: "bash", input: { command: `run ${count}` }, outcome },
    ],
  };
}

const TURNS = 4_000;
const LIMITS = { contextTokens: 200_000, outputTokens: 8_000 };

/** The settings that do most at every turn. */
const SETTINGS: Readonly<Record<string, SessionOptions>> = {
  default: { limits: LIMITS },
  documented: { limits: LIMITS, profile: "documented" },
  "documented, heuristic, as a user summary, 32,000 tokens": {
    limits: { contextTokens: 32_000, outputTokens: 4_000 },
    profile: "documented",
    representation: "user-summary",
    compaction: { toolSummaryStrategy: "heuristic" },
  },
  "summaries in the background": { limits: LIMITS, compaction: { toolSummaryStrategy: "llm" } },
};

/** What 4,000 turns cost against the first 2,000 of them: about twice, or a long session stalls. */
async function benchTurns(): Promise<void> {
  const rows: string[][] = [
    ["settings", "CPU ms a turn", "4,000 turns / 2,000", "bar", "state KB", "state / window"],
  ];
  for (const [name, options] of Object.entries(SETTINGS)) {
    const clock = { now: () => 1_000, sleep: () => new Promise<void>(() => {}) };
    const session = createSession({ clock, summarizer: { summarize: async () => "It went well." } }, options);
    let halfMicros = 0;
    const start = process.cpuUsage();
    const spentMicros = (): number => {
      const { user, system } = process.cpuUsage(start);
      return user + system;
    };
    for (let turn = 1; turn <= TURNS; turn++) {
      for (const message of messagesOf(turn)) session.append(message);
      await session.prepare({ moment: "after-turn" });
      session.projection();
      if (turn === TURNS / 2) halfMicros = spentMicros();
    }
    const total = spentMicros();
    const stateChars = JSON.stringify(session).length;
    const shownChars = JSON.stringify(session.projection()).length;
    rows.push([
      name,
      (total / TURNS / 1_000).toFixed(2),
      `${(total / halfMicros).toFixed(2)}x`,
      "≤ 2.3",
      (stateChars / 1_000).toFixed(0),
      `${(stateChars / shownChars).toFixed(2)}x`,
    ]);
  }
  printTable("A session of 4,000 turns, each appended, prepared and projected", rows);
}

function messagesOf(turn: number): readonly Message[] {
  const request: Message = {
    id: `u${turn}`,
    role: "user",
    parts: [{ type: "text", text: `request ${turn}` }],
  };
  const outcome = {
    status: "done",
    output: `src/file-${turn}.ts: ok\n`.repeat(12),
    attachments: [],
  } as const;
  const input = { command: `run ${turn}` };
  const step: Message = {
    id: `s${turn}`,
    role: "assistant",
    finish: "tool-calls",
    parts: [{ type: "tool", callId: `call-${turn}`, tool: "bash", input, outcome }],
  };
  return turn % 8 === 1 ? [request, step] : [step];
}
