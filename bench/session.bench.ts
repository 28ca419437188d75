import { opencode } from "../src/formats/wires/opencode/opencode.ts";
import type { SessionOptions } from "../src/session/options.ts";
import { createSession, type Session } from "../src/session/session.ts";
import type { Message, Transcript } from "../src/transcript/message.ts";
import { generateSession, generateTexts } from "./generate-session.ts";
import { printTable } from "./measure.ts";

const MESSAGES = 10_000;
/** Nothing here sleeps. */
const clock = { now: () => 1_000, sleep: () => new Promise<void>(() => {}) };
const ROOMY: SessionOptions = {
  limits: { contextTokens: 500_000_000, outputTokens: 8_000 },
};
const USUAL: SessionOptions = { limits: { contextTokens: 200_000, outputTokens: 8_000 } };

/** Prints the cost of one more message, and that a turn of a long session costs as much as one of a short session. */
export async function benchSession(): Promise<void> {
  await benchMessage();
  await benchPruning();
  await benchTurns();
}

/** The cost of one more message with decision and messages, compared with a JSON round trip of everything. */
async function benchMessage(): Promise<void> {
  const withTools = opencode.decode(generateSession({ messages: MESSAGES, toolResults: MESSAGES * 0.75 }));
  const textOnly = opencode.decode(generateTexts(MESSAGES, 300));
  const rows: string[][] = [
    ["one message more", "MB", "CPU ms", "bar", "append + nextAction + messages / JSON", "bar"],
  ];
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
    const ms = cpuMillis(grow, 300);
    const ratio = ms / cpuMillis(json, 3);
    const megabytes = JSON.stringify(each.base).length / 1e6;
    rows.push([each.name, megabytes.toFixed(1), ms.toFixed(2), "≤ 10", `${ratio.toFixed(4)}x`, "≤ 0.02"]);
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

/** A function that adds one message and asks for the action and the messages to send. */
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
    return session.messages().length + action.type.length;
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

/** The cost of a request with pruning by line: append, prepare after the turn, project. */
async function benchPruning(): Promise<void> {
  const rows: string[][] = [["each request of 300 messages", "MB", "p50 ms", "p90 ms", "slowest ms", "bar"]];
  const model = { provider: "anthropic", id: "claude-sonnet-4-5" };
  const cases: readonly (readonly [name: string, messages: Transcript, options: SessionOptions])[] = [
    ["files of 1 to 6 KB and edits, by line", readableSession(300), { model }],
    ["the same, pruning off", readableSession(300), { model, prune: "off" }],
    [
      "outputs of 200 to 200,000 characters, by line",
      opencode.decode(generateSession({ messages: 300, toolResults: 225 })),
      { model },
    ],
  ];
  for (const [name, messages, options] of cases) {
    const millis = (await requestMillis(messages, { ...USUAL, ...options })).toSorted(
      (one, two) => one - two,
    );
    const at = (share: number): string => (millis[Math.floor((millis.length - 1) * share)] ?? 0).toFixed(2);
    const megabytes = (JSON.stringify(messages).length / 1e6).toFixed(1);
    const bar = options.prune === "off" ? "" : "p90 ≤ 3";
    rows.push([name, megabytes, at(0.5), at(0.9), at(1), bar]);
  }
  printTable("A session of 300 messages, request by request: CPU time, the best of five runs", rows);
}

/** The CPU time of each request, the best of a few runs. */
async function requestMillis(messages: Transcript, options: SessionOptions): Promise<readonly number[]> {
  const best: number[] = messages.map(() => Number.POSITIVE_INFINITY);
  for (let run = 0; run < 5; run++) {
    const session = createSession({ clock, summarizer: { summarize: async () => "It went well." } }, options);
    for (const [index, message] of messages.entries()) {
      const start = process.cpuUsage();
      session.append(message);
      await session.prepare({ moment: "after-turn" });
      session.messages();
      const { user, system } = process.cpuUsage(start);
      best[index] = Math.min(best[index] ?? 0, (user + system) / 1_000);
    }
  }
  return best;
}

/** A realistic session: files with line numbers, searches, edits. */
function readableSession(count: number): Transcript {
  return Array.from({ length: count }, (_, index): Message => {
    const id = `m${index}`;
    if (index % 12 === 0)
      return { id, role: "user", parts: [{ type: "text", text: `Mend module ${index}.` }] };
    const path = `src/module-${index % 17}/file-${index % 41}.ts`;
    const lines = Array.from(
      { length: 12 + ((index * 37) % 70) },
      (_, line) =>
        `${line + 1}\texport const value${index % 41}_${line} = compute${line % 13}(${index}, "${path}");`,
    );
    const isEdit = index % 5 === 4;
    const input = isEdit
      ? { file_path: path, old_string: lines[3], new_string: lines.slice(4, 12).join("\n") }
      : { file_path: path, offset: (index * 13) % 400 };
    const output = isEdit ? `The file ${path} has been updated.` : lines.join("\n");
    const outcome = { status: "done", output, attachments: [] } as const;
    return {
      id,
      role: "assistant",
      finish: "tool-calls",
      parts: [{ type: "tool", callId: `c${index}`, tool: isEdit ? "edit" : "read", input, outcome }],
    };
  });
}

const TURNS = 4_000;
const LIMITS = { contextTokens: 200_000, outputTokens: 8_000 };

/** The settings with the most work per turn. */
const SETTINGS: Readonly<Record<string, SessionOptions>> = {
  default: { limits: LIMITS },
  documented: { limits: LIMITS, profile: "documented" },
  "documented, heuristic, as a user summary, 32,000 tokens": {
    limits: { contextTokens: 32_000, outputTokens: 4_000 },
    profile: "documented",
    representation: "user-summary",
    compaction: { toolSummaryStrategy: "heuristic" },
  },
  "summaries in the background": {
    limits: LIMITS,
    profile: "documented",
    compaction: { toolSummaryMode: "background" },
  },
};

/** The cost of 4,000 turns relative to the first 2,000: about twice, unless a long session slows down. */
async function benchTurns(): Promise<void> {
  const rows: string[][] = [
    ["settings", "CPU ms a turn", "4,000 turns / 2,000", "bar", "state KB", "state / window"],
  ];
  for (const [name, options] of Object.entries(SETTINGS)) {
    const runs: TurnsRun[] = [];
    for (let run = 0; run < TURN_RUNS; run++) runs.push(await runTurns(options));
    // Other programs only add time: the best of each block of turns is the most accurate.
    const best = (runs[0] as TurnsRun).blockMicros.map((_, block) =>
      Math.min(...runs.map(({ blockMicros }) => blockMicros[block] ?? Number.POSITIVE_INFINITY)),
    );
    const sum = (micros: readonly number[]): number => micros.reduce((total, each) => total + each, 0);
    const [first, second] = [sum(best.slice(0, best.length / 2)), sum(best.slice(best.length / 2))] as const;
    const { stateChars, shownChars } = runs[0] as TurnsRun;
    rows.push([
      name,
      ((first + second) / TURNS / 1_000).toFixed(2),
      `${((first + second) / first).toFixed(2)}x`,
      "≤ 2.4",
      (stateChars / 1_000).toFixed(0),
      `${(stateChars / shownChars).toFixed(2)}x`,
    ]);
  }
  printTable(
    "A session of 4,000 turns, each appended, prepared and projected: the best of three runs, by 250 turns",
    rows,
  );
}

const TURN_RUNS = 3;
const BLOCK_TURNS = 250;

interface TurnsRun {
  /** CPU time of one block of turns after another. */
  readonly blockMicros: readonly number[];
  readonly stateChars: number;
  readonly shownChars: number;
}

async function runTurns(options: SessionOptions): Promise<TurnsRun> {
  const session = createSession({ clock, summarizer: { summarize: async () => "It went well." } }, options);
  const blockMicros: number[] = [];
  let start = process.cpuUsage();
  for (let turn = 1; turn <= TURNS; turn++) {
    for (const message of messagesOf(turn)) session.append(message);
    await session.prepare({ moment: "after-turn" });
    session.messages();
    if (turn % BLOCK_TURNS !== 0) continue;
    const { user, system } = process.cpuUsage(start);
    blockMicros.push(user + system);
    start = process.cpuUsage();
  }
  return {
    blockMicros,
    stateChars: JSON.stringify(session).length,
    shownChars: JSON.stringify(session.messages()).length,
  };
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
