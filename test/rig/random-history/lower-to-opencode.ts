import fc from "fast-check";
import type {
  SessionExport,
  SessionMessage,
  SessionMessageInfo,
  SessionPart,
} from "../../../src/formats/wires/opencode/decode-messages.ts";
import { OPENCODE_VERSION } from "../opencode/install-opencode.ts";
import { LONG_WINDOW, MIDDLE_WINDOW } from "../opencode/sandbox.ts";
import {
  type CompactionStep,
  createResultLookup,
  createSeededRandom,
  type History,
  type HistoryCall,
  type HistoryResult,
  type ModelStep,
  type SeededRandom,
  type UserStep,
} from "./history.ts";
import { randomSession, SMALL_IMAGE } from "./random-history.ts";

/**
 * The file that `opencode import` reads for a history; the last turn is always answered. With a source of chance it
 * holds everything that OpenCode stores and only a crash leaves behind; without one all is plain and went well.
 */
export function lowerToOpenCode(
  history: History,
  { number, random = PLAIN }: { readonly number: number; readonly random?: SeededRandom },
): SessionExport {
  const sessionID = `ses_oracle${String(number).padStart(8, "0")}`;
  const session = createSession(sessionID, random);
  const resultOf = createResultLookup(history);
  for (const step of history.steps) {
    if (step.type === "user") session.addUser(userParts(step, random));
    else if (step.type === "model") session.addAnswer(step, resultOf);
    else if (step.type === "compaction") session.addCompaction(step);
    else if (step.type === "aside") session.addUser([{ type: "agent", name: "general" }]);
  }
  // A marker or a subtask behind the last finished answer would be worked off before the next prompt is.
  session.addUser([{ type: "text", text: "Is that all?" }]);
  session.addAssistant([STEP_START, { type: "text", text: "That is all." }, STEP_FINISH], ENDS.said);
  return {
    info: {
      id: sessionID,
      slug: sessionID.slice(-8),
      projectID: "global",
      directory: "/",
      title: `Generated ${sessionID}`,
      version: OPENCODE_VERSION,
      time: { created: STARTED_MS, updated: STARTED_MS },
    },
    messages: session.messages,
  };
}

/** Messages as OpenCode might store them, and some that it never should: both shapes, repeated ids, loose results. */
export const anyOpenCodeMessages: fc.Arbitrary<readonly SessionMessage[]> = fc
  .tuple(randomSession(), fc.nat(999_999))
  .map(([history, seed]) => {
    const random = createSeededRandom(seed);
    const { messages } = lowerToOpenCode(history, { number: 1, random });
    return disorder(messages.slice(0, -2), random);
  });

/** Chance that always takes the first and plainest. */
const PLAIN: SeededRandom = {
  below: () => 0,
  chance: () => false,
  oneOf: (items) => items[0] as (typeof items)[number],
};

/** Long ago, so that what the host adds is newer than anything here, whatever the clock says. */
const STARTED_MS = 1_700_000_000_000;
const NO_TOKENS = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };
const STEP_START = { type: "step-start" };
const STEP_FINISH = { type: "step-finish", reason: "stop", cost: 0, tokens: NO_TOKENS };
const ASSISTANT = {
  role: "assistant",
  mode: "build",
  agent: "build",
  path: { cwd: "/", root: "/" },
  cost: 0,
  tokens: NO_TOKENS,
};
const ENDS = {
  said: { finish: "stop" },
  called: { finish: "tool-calls" },
  length: { finish: "length" },
  failed: { error: { name: "APIError", data: { message: "Refused", isRetryable: false } } },
  aborted: { error: { name: "MessageAbortedError", data: { message: "Aborted" } } },
  killed: {},
};

function createSession(sessionID: string, random: SeededRandom) {
  const messages: SessionMessage[] = [];
  let windowStart = 0;
  /** Sorts before every id that the host gives, and after all that were given before. */
  const idOf = (): string => `000${sessionID.slice(-8)}${String(messages.length + 1).padStart(6, "0")}`;

  function add(info: SessionMessageInfo, parts: readonly SessionPart[]): string {
    const own = idOf();
    const id = `msg_${own}`;
    const created = STARTED_MS + (messages.length + 1) * 1_000;
    const time = { created, ...(info.role === "assistant" ? { completed: created + 500 } : {}) };
    const withIds = parts.map((part, index) => ({
      id: `prt_${own}${String(index).padStart(4, "0")}`,
      sessionID,
      messageID: id,
      ...part,
    }));
    messages.push({ info: { id, sessionID, time, ...info }, parts: withIds });
    return id;
  }
  const addUser = (parts: readonly SessionPart[]): string =>
    add({ role: "user", agent: "build", model: LONG_WINDOW }, parts);
  const addAssistant = (parts: readonly SessionPart[], more: object): string => {
    const parentID = messages.findLast(({ info }) => info.role === "user")?.info.id ?? "";
    return add({ ...ASSISTANT, parentID, ...LONG_WINDOW, ...more }, parts);
  };

  return {
    messages,
    addUser,
    addAssistant,
    addAnswer(step: ModelStep, resultOf: (callId: string) => HistoryResult | undefined): void {
      if (messages.length === 0) addUser([{ type: "text", text: "Hello." }]);
      const own = idOf();
      const calls = step.calls.map((call, index) =>
        toolPart(call, { callID: `call_${own}_${index}`, result: resultOf(call.id), random }),
      );
      const started = { start: STARTED_MS, end: STARTED_MS };
      const { thoughts, text } = step;
      const parts = [
        STEP_START,
        ...thoughts.map((thought) => ({ type: "reasoning", text: thought.text, time: started })),
        ...(text === undefined ? [] : [{ type: "text", text }]),
        ...calls,
        STEP_FINISH,
      ];
      const plain = calls.length > 0 ? "called" : "said";
      const end = random.oneOf([plain, plain, plain, "length", "failed", "aborted", "killed"] as const);
      const isOther = random.chance(25);
      addAssistant(random.chance(5) ? [] : parts, { ...(isOther && MIDDLE_WINDOW), ...ENDS[end] });
    },
    addCompaction({ summary: text, kept }: CompactionStep): void {
      const trigger = random.oneOf(["auto", "manual", "overflow"]);
      const summary = random.oneOf([...GOOD, ...GOOD, "failed", "killed", "empty", "adopted"]);
      const tailId = random.chance(7) ? "msg_gone" : tailStart(messages.slice(windowStart), kept);
      const markerIndex = messages.length;
      const marker = {
        type: "compaction",
        auto: trigger !== "manual",
        ...(trigger === "overflow" && { overflow: true }),
        ...(tailId !== undefined && { tail_start_id: tailId }),
      };
      const markerId = addUser([marker]);
      // A summary that hangs on the next user message is what OpenCode leaves behind a retried compaction.
      const parentID = summary === "adopted" ? addUser([{ type: "text", text: "Are you there?" }]) : markerId;
      addAssistant([STEP_START, ...(summary === "empty" ? [] : [{ type: "text", text }]), STEP_FINISH], {
        ...(summary === "failed" ? ENDS.failed : summary === "killed" ? ENDS.killed : ENDS.said),
        parentID,
        summary: true,
        mode: "compaction",
        agent: "compaction",
      });
      if (summary === "good" || summary === "empty") {
        const tailIndex = messages.findIndex(({ info }) => info.id === tailId);
        windowStart = tailIndex === -1 ? markerIndex : tailIndex;
      }
      const next = "Continue if you have next steps.";
      if (random.chance(50)) addUser([{ type: "text", text: next, synthetic: true }]);
    },
  };
}

const GOOD: readonly string[] = Array.from({ length: 6 }, () => "good");

/** OpenCode lets a tail begin at a message of the window, and never at a marker or a summary. */
function tailStart(window: readonly SessionMessage[], kept: number): string | undefined {
  const candidates = window.filter(
    ({ info, parts }) => info.summary !== true && !parts.some(({ type }) => type === "compaction"),
  );
  return kept === 0 ? undefined : candidates[Math.max(0, candidates.length - kept)]?.info.id;
}

function userParts({ texts, images }: UserStep, random: SeededRandom): readonly SessionPart[] {
  const marks = [{}, {}, {}, { synthetic: true }, { ignored: true }];
  const parts: SessionPart[] = texts.map((text) => ({ type: "text", text, ...random.oneOf(marks) }));
  if (images.length > 0 || random.chance(15)) parts.push(file(random.oneOf([...MEDIA, ...TEXT_FILES])));
  if (random.chance(6)) parts.push({ type: "agent", name: "general" });
  if (random.chance(6))
    parts.push({ type: "subtask", prompt: "Look.", description: "A look", agent: "general" });
  return parts;
}

const MEDIA: readonly string[] = ["image/png", "image/jpeg", "application/pdf"];
const TEXT_FILES: readonly string[] = ["text/plain", "application/x-directory"];

function file(mime: string): SessionPart {
  const url = `data:${mime};base64,${SMALL_IMAGE}`;
  return { type: "file", mime, filename: `file.${mime.split("/")[1]}`, url };
}

interface CallContext {
  readonly callID: string;
  readonly result: HistoryResult | undefined;
  readonly random: SeededRandom;
}

function toolPart({ tool, input }: HistoryCall, { callID, result, random }: CallContext): SessionPart {
  return { type: "tool", tool, callID, state: { input, ...stateOf(result, random) } };
}

function stateOf(result: HistoryResult | undefined, random: SeededRandom): object {
  const time = { start: STARTED_MS, end: STARTED_MS + 1 };
  if (result === undefined)
    return random.chance(50)
      ? { status: "running", time: { start: STARTED_MS } }
      : { status: "pending", raw: "" };
  const { text, isError, image } = result;
  if (isError && random.chance(50))
    return { status: "error", error: "Aborted", time, metadata: { interrupted: true, output: text } };
  if (isError) return { status: "error", error: text, time };
  const owner = { id: "prt_attached0", sessionID: "ses_any", messageID: "msg_any" };
  return {
    status: "completed",
    output: text,
    title: "",
    metadata: {},
    time: random.chance(15) ? { ...time, compacted: STARTED_MS + 2 } : time,
    ...(image !== undefined && { attachments: [{ ...owner, ...file(random.oneOf(MEDIA)) }] }),
  };
}

/** Messages with what no OpenCode writes: roles, ids and parents at random, parts that are unknown, the older shape. */
function disorder(messages: readonly SessionMessage[], random: SeededRandom): readonly SessionMessage[] {
  const isOlder = random.chance(50);
  const anyId = (): string => `msg_${random.oneOf(messages).info.id?.slice(4) ?? ""}`;
  return messages.map(({ info, parts }) => {
    const { finish, tokens, ...rest } = info;
    return {
      info: {
        ...rest,
        ...(!isOlder && { tokens, ...(finish !== undefined && { finish }) }),
        ...(random.chance(20) && { role: random.oneOf(["assistant", "assistant", "system", "critic"]) }),
        ...(random.chance(20) && { summary: random.oneOf([true, false, { diffs: [] }]) }),
        ...(random.chance(10) && ENDS.failed),
        ...(random.chance(30) && { parentID: anyId() }),
        ...(random.chance(15) && { id: anyId() }),
      },
      parts: [
        ...(random.chance(12)
          ? [{ type: "compaction", auto: random.chance(50), tail_start_id: anyId() }]
          : []),
        ...parts.flatMap((part) => disorderPart(part, isOlder, random)),
      ],
    };
  });
}

function disorderPart(part: SessionPart, isOlder: boolean, random: SeededRandom): readonly SessionPart[] {
  const unknown = random.chance(8) ? [{ type: random.oneOf(["patch", "something-new"]), hash: "h" }] : [];
  const callID = random.chance(15) ? random.oneOf(["c1", "c2"]) : part.callID;
  if (part.type !== "tool") return [...unknown, part];
  const state = part.state as { readonly input?: unknown; readonly output?: string };
  const input = random.chance(10) ? random.oneOf([{ "": null, deep: [[{ a: 1 }]] }, 7, "text"]) : state.input;
  if (!isOlder && !random.chance(10)) return [...unknown, { ...part, callID, state: { ...state, input } }];
  const call = { type: "tool", tool: part.tool, callID, input };
  if (state.output === undefined) return [...unknown, call];
  const result = { type: "tool_result", callID: random.chance(10) ? "lost" : callID, text: state.output };
  return random.chance(10) ? [result, ...unknown, call] : [call, ...unknown, result];
}
