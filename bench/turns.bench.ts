import type { SessionOptions } from "../src/session/options.ts";
import { createSession } from "../src/session/session.ts";
import type { Message } from "../src/transcript/message.ts";
import { printTable } from "./measure.ts";

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

/** Prints what 4,000 turns cost against the first 2,000 of them: about twice, or a long session stalls. */
export async function benchTurns(): Promise<void> {
  const rows: string[][] = [["settings", "CPU ms a turn", "4,000 turns / 2,000", "bar"]];
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
    rows.push([name, (total / TURNS / 1_000).toFixed(2), `${(total / halfMicros).toFixed(2)}x`, "≤ 2.3"]);
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
