import { formatMessagesAsContext } from "../src/fork/context/format.ts";
import { forkContext, processMessagesForFork } from "../src/fork/fork.ts";
import type { SessionMessage } from "../src/formats/wires/opencode/decode-messages.ts";
import { opencode } from "../src/formats/wires/opencode/opencode.ts";
import { generateSession, generateTexts } from "./generate-session.ts";
import { printTable, ratioOf } from "./measure.ts";

/** The whole fork in the documented profile: foreign messages in, the child's text and statistics out. */
function fork(session: readonly SessionMessage[]): string {
  const { messages, stats } = processMessagesForFork(opencode.decode(session));
  return formatMessagesAsContext(messages, stats).text;
}

/** The same as users get it, which chooses lines. */
function forkByDefault(session: readonly SessionMessage[]): string {
  return forkContext(opencode.decode(session)).text;
}

function charPass(session: readonly SessionMessage[]): number {
  let sum = 0;
  for (const { parts } of session) {
    for (const part of parts) {
      const text =
        part.type === "text" ? (part.text as string) : ((part.state as { output?: string }).output ?? "");
      for (let index = 0; index < text.length; index++) sum += text.charCodeAt(index);
    }
  }
  return sum;
}

const roundTrip = (session: readonly SessionMessage[]) => JSON.parse(JSON.stringify(session)) as unknown;

/** Prints what a fork costs beside JSON.parse + JSON.stringify of the same transcript, and how the cost grows. */
export async function benchFork(): Promise<void> {
  const cases = [
    {
      name: "400 messages, 300 results",
      session: generateSession({ messages: 400, toolResults: 300 }),
      bar: "≤ 0.35",
    },
    {
      name: "4,000 messages, 3,000 results",
      session: generateSession({ messages: 4_000, toolResults: 3_000 }),
      bar: "≤ 0.35",
    },
    { name: "10,000 messages of 2 KB, all over budget", session: generateTexts(10_000, 2_000), bar: "< 1" },
  ];
  const rows: string[][] = [
    ["transcript", "MB", "fork / JSON", "bar", "by default", "char pass / JSON", "JSON"],
  ];
  for (const { name, session, bar } of cases) {
    const json = () => roundTrip(session);
    const megabytes = JSON.stringify(session).length / 1e6;
    const forkRatio = await ratioOf(() => fork(session), json);
    const defaultRatio = await ratioOf(() => forkByDefault(session), json);
    const charRatio = await ratioOf(() => charPass(session), json);
    const ratios = [times(forkRatio), bar, times(defaultRatio), times(charRatio)];
    rows.push([name, megabytes.toFixed(1), ...ratios, "1x"]);
  }
  printTable(
    "Fork against JSON.parse + JSON.stringify of the same transcript (the original: 10x at 5 MB, 45x at 50 MB)",
    rows,
  );

  const growth: string[][] = [["messages", "against half of them", "bar"]];
  for (const messages of [2_500, 5_000, 10_000, 20_000]) {
    const half = generateTexts(messages / 2, 2_000);
    const whole = generateTexts(messages, 2_000);
    const ratio = await ratioOf(
      () => fork(whole),
      () => fork(half),
    );
    growth.push([messages.toLocaleString("en-US"), times(ratio), "≤ 2.2"]);
  }
  printTable("Growth of the fork as the history doubles (messages of 2 KB)", growth);
}

function times(ratio: number): string {
  return `${ratio.toFixed(2)}x`;
}
