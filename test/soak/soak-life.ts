import { rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Summarizer } from "../../src/compaction/ports/summarizer.ts";
import { formatMessagesAsContext } from "../../src/fork/context/format.ts";
import { processMessagesForFork } from "../../src/fork/fork.ts";
import { createSession, type Session } from "../../src/session/session.ts";
import { createFileJournal } from "../../src/stores/files/journal.ts";
import { createFileRecordStore } from "../../src/stores/files/record-store.ts";
import { createSystemClock } from "../../src/stores/system-clock.ts";
import type { OutputStore } from "../../src/tool-output/output-store.ts";
import type { Transcript } from "../../src/transcript/message.ts";
import { completedFork, runningFork, sampleFork } from "../rig/forks/fork-samples.ts";
import {
  createSeededRandom,
  type History,
  type HistoryCall,
  type SeededRandom,
  type Step,
} from "../rig/random-history/history.ts";
import { PROVIDER_CASES, type ProviderCase } from "../rig/random-history/provider-cases.ts";
import type { LiveHandles } from "./live-handles.ts";

/** What a soak counts. */
export interface SoakCounts {
  sessions: number;
  requests: number;
  compactions: number;
  forks: number;
  outputs: number;
  recalls: number;
  restarts: number;
}

/** What must never happen, each with what was seen. */
export type Complain = (fault: string) => void;

/** Lives one session from its first request to its end: outputs too long, refusals, compactions, forks, a restart. */
export async function liveSession(life: SoakLife): Promise<void> {
  const dice = createSeededRandom(life.seed);
  const provider = dice.oneOf(PROVIDER_CASES);
  const steps: Step[] = [];
  let session = openSession(life, dice);
  for (let turn = 0; turn < TURNS; turn++) {
    steps.push(...turnOf(turn, dice));
    const wire = provider.lower({
      system: "be brief",
      steps,
      isThinking: false,
      cacheMarks: 1,
    } satisfies History);
    if (turn === RESTART_AT) session = await restart({ life, dice, provider, wire, before: session });
    session.observe(provider.format.decode(wire));
    await request({ life, provider, session, wire });
    if (dice.chance(8)) {
      session.onProviderError({ status: 400, message: "prompt is too long: 9000 tokens > 8000 maximum" });
      await request({ life, provider, session, wire });
    }
    if (dice.chance(25)) await fork({ life, session, name: `${life.id}-${turn}` });
    if (dice.chance(25)) await recallSomething(life, session);
  }
  await forget(life);
  life.counts.sessions++;
}

export interface SoakLife {
  readonly id: string;
  readonly seed: number;
  readonly root: string;
  readonly outputs: OutputStore;
  readonly counts: SoakCounts;
  readonly complain: Complain;
  /** The handles of sessions that go on, which cleaning must spare. */
  readonly live: LiveHandles;
}

const TURNS = 24;
const RESTART_AT = 14;

function openSession({ id, root, outputs, counts, live }: SoakLife, dice: SeededRandom): Session {
  const counted: OutputStore = {
    async put(content) {
      const stored = await outputs.put(content);
      if (stored.status === "stored") await live.add(stored.handle);
      counts.outputs++;
      return stored;
    },
    get: (handle) => outputs.get(handle),
  };
  const journal = createFileJournal({ root: join(root, "journal"), session: id, durable: false });
  return createSession(
    { clock: createSystemClock(), summarizer: scriptedSummarizer(dice), journal, outputs: counted },
    {
      model: { provider: "north", id: "north" },
      limits: { contextTokens: 30_000, outputTokens: 4_000 },
      keepTokens: 4_000,
      compactAt: { tokens: 24_000 },
      toolOutput: { maxChars: 12_000, maxLines: 400 },
      onEvent: (event) => {
        if (event.type === "compaction_end" && event.error === undefined) counts.compactions++;
      },
    },
  );
}

/** Answers well most of the time, and now and then as real models do. */
function scriptedSummarizer(dice: SeededRandom): Summarizer {
  return {
    async summarize({ prompt }) {
      const throwOf = dice.below(20);
      if (throwOf === 0) throw new Error("503 overloaded");
      if (throwOf === 1) return "   ";
      if (throwOf === 2) return `</summary>\u202e\0${"word ".repeat(30_000)}`;
      return `## Goal\nShip the parser.\n## Progress\n${prompt.length} characters were read.</conversation>`;
    },
  };
}

function turnOf(turn: number, dice: SeededRandom): readonly Step[] {
  const calls: readonly HistoryCall[] = Array.from({ length: 1 + dice.below(3) }, (_, index) => ({
    id: `call_${turn}_${index}`,
    tool: dice.oneOf(["read", "bash", "grep"]),
    input: { path: `src/file-${dice.below(20)}.ts`, note: dice.chance(10) ? "\ud800\0" : "plain" },
  }));
  return [
    { type: "user", texts: [`Request ${turn}: ${"please ".repeat(dice.below(60))}`], images: [] },
    { type: "model", model: "north", thoughts: [], text: `Step ${turn}.`, calls },
    {
      type: "results",
      results: calls.map(({ id, tool }) => ({
        callId: id,
        tool,
        text: outputOf(dice),
        isError: dice.chance(10),
        image: undefined,
      })),
    },
  ];
}

function outputOf(dice: SeededRandom): string {
  const lines = dice.oneOf([3, 40, 300, 2_500]);
  const noise = dice.chance(15) ? "\u001b[31m</inherited_context>\u200b\ud83d" : "";
  return Array.from(
    { length: lines },
    (_, index) => `${index}: ${dice.below(1e9).toString(36)} ${noise}`,
  ).join("\n");
}

interface Asking {
  readonly life: SoakLife;
  readonly provider: ProviderCase;
  readonly session: Session;
  readonly wire: unknown;
}

/** Prepares the window and looks at the request that would be sent. */
async function request({ life, provider, session, wire }: Asking): Promise<void> {
  await session.prepare();
  life.counts.requests++;
  const sent = provider.format.apply(wire, session.edits(), { at: Date.now() });
  for (const fault of provider.format.faults(sent))
    life.complain(`${life.id} ${provider.api}: ${JSON.stringify(fault)}`);
}

/** Opens the session again from its journal, as after a crash: the same window must come out. */
async function restart({ life, dice, provider, wire, before }: Restart): Promise<Session> {
  const transcript = provider.format.decode(wire);
  before.observe(transcript);
  const session = openSession(life, dice);
  await session.restore(transcript);
  life.counts.restarts++;
  if (windowOf(session) !== windowOf(before)) life.complain(`${life.id}: another window after a restart`);
  return session;
}

interface Restart {
  readonly life: SoakLife;
  readonly dice: SeededRandom;
  readonly provider: ProviderCase;
  readonly wire: unknown;
  readonly before: Session;
}

function windowOf(session: Session): string {
  return JSON.stringify(session.messages());
}

interface Forking {
  readonly life: SoakLife;
  readonly session: Session;
  readonly name: string;
}

/** Hands the conversation over, and leads the record of the child through its life in the shared store. */
async function fork({ life, session, name }: Forking): Promise<void> {
  const { messages, stats } = processMessagesForFork(session.messages(), {
    profile: "default",
    budgetChars: BUDGET_CHARS,
  });
  const { text } = formatMessagesAsContext(messages, stats);
  if (text.length > BUDGET_CHARS) life.complain(`${name}: ${text.length} characters inherited`);
  const store = createFileRecordStore({ root: join(life.root, "forks"), durable: false });
  let expected: number | "missing" = "missing";
  for (const value of [sampleFork, runningFork, completedFork].map((make) =>
    make({ id: name, rootSessionId: life.id }),
  )) {
    const stored = await store.put({ id: name, value, expected });
    if (stored.status !== "stored") return life.complain(`${name}: ${JSON.stringify(stored)}`);
    expected = stored.version;
  }
  const deleted = await store.delete(name, expected);
  if (deleted.status !== "deleted") life.complain(`${name}: ${JSON.stringify(deleted)}`);
  life.counts.forks++;
}

const BUDGET_CHARS = 40_000;

async function recallSomething({ id, counts, complain }: SoakLife, session: Session): Promise<void> {
  const handle = handleIn(session.transcript());
  if (handle === undefined) return;
  const recalled = await session.recall(handle);
  counts.recalls++;
  if (recalled.status !== "found") complain(`${id}: ${handle} cannot be recalled`);
}

/** The newest handle of a saved output that the conversation still names. */
function handleIn(transcript: Transcript): string | undefined {
  return JSON.stringify(transcript)
    .match(/\b[0-9a-f]{64}\b/g)
    ?.at(-1);
}

/** Removes the log of a session that is over, as a person who purges does. */
async function forget({ id, root, live }: SoakLife): Promise<void> {
  await live.clear();
  const folder = join(root, "journal");
  for (const name of await readdir(folder))
    if (name.startsWith(`${id}.`)) rmSync(join(folder, name), { force: true });
}
