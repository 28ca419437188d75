import { opencode } from "../src/formats/wires/opencode/opencode.ts";
import type { SessionOptions } from "../src/session/options.ts";
import { createSession, type Session } from "../src/session/session.ts";
import type { Message, Transcript } from "../src/transcript/message.ts";
import { generateSession, generateTexts } from "./generate-session.ts";
import { printTable, ratioOf } from "./measure.ts";

const MESSAGES = 10_000;
/** A session that has grown by this much is replaced by a fresh one, so that it stays a session of about 10,000 messages. */
const MAX_GROWTH = 500;

/** Nothing in here waits for anybody. */
const clock = { now: () => 1_000, sleep: () => new Promise<void>(() => {}) };
const ROOMY: SessionOptions = {
  limits: { contextTokens: 500_000_000, outputTokens: 8_000 },
};
const USUAL: SessionOptions = { limits: { contextTokens: 200_000, outputTokens: 8_000 } };

/** Prints what one more message costs, with the decision and the projection, beside a JSON round trip of everything. */
export async function benchSession(): Promise<void> {
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
    const ratio = await ratioOf(grow, json);
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

/** A function that adds one message and asks for the action and the projection; now and then it starts again with the base. */
async function growing({ base, options, feed, moment = "before-call" }: SessionCase): Promise<() => number> {
  const settled = await started(base, options);
  // Restarting is not measured by the median; running what is due would be another bench.
  const fresh = (): Session => {
    const session = createSession({ clock }, options);
    session.observe(base);
    return session;
  };
  let session = settled;
  let list: Message[] = [...base];
  let count = 0;
  return () => {
    if (count > 0 && count % MAX_GROWTH === 0 && options === ROOMY) {
      session = fresh();
      session.nextAction({ moment });
      list = [...base];
    }
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
