import type {
  SessionExport,
  SessionMessage,
  SessionMessageInfo,
  SessionPart,
} from "../../../src/formats/wires/opencode/session-message.ts";
import { OPENCODE_VERSION } from "../../rig/opencode/install-opencode.ts";
import { LONG_WINDOW, MIDDLE_WINDOW } from "../../rig/opencode/sandbox.ts";
import type {
  AnswerPlan,
  CallPlan,
  CompactionPlan,
  StepPlan,
  TurnPlan,
  UserPartPlan,
} from "./session-plan.ts";

/** The file that `opencode import` reads for a planned session; the last turn is always answered. */
export function buildSession(plan: readonly TurnPlan[], number: number): SessionExport {
  const builder = createBuilder(`ses_oracle${String(number).padStart(8, "0")}`);
  for (const turn of plan) {
    if (turn.type === "talk") {
      builder.user(turn.user.map(userPart));
      for (const answer of turn.answers) builder.answer(answer);
    } else {
      builder.compaction(turn);
    }
  }
  // A marker or a subtask behind the last finished answer would be worked off before the next prompt is.
  builder.user([{ type: "text", text: "Is that all?" }]);
  builder.answer({
    end: "said",
    model: "same",
    steps: [{ reasoning: [], texts: ["That is all."], calls: [] }],
  });
  return builder.session();
}

interface Builder {
  user(parts: readonly SessionPart[]): void;
  answer(answer: AnswerPlan): void;
  compaction(compaction: CompactionPlan): void;
  session(): SessionExport;
}

/** Long ago, so that what the host adds is newer than anything here, whatever the clock says. */
const STARTED_MS = 1_700_000_000_000;

function createBuilder(sessionID: string): Builder {
  const messages: SessionMessage[] = [];
  let count = 0;
  let windowStart = 0;
  const add = (info: SessionMessageInfo, parts: readonly SessionPart[]): string => {
    count++;
    const id = `msg_${idOf(sessionID, count)}`;
    const created = STARTED_MS + count * 1_000;
    const time = { created, ...(info.role === "assistant" ? { completed: created + 500 } : {}) };
    messages.push({
      info: { id, sessionID, time, ...info },
      parts: parts.map((part, index) => ({
        id: `prt_${idOf(sessionID, count)}${String(index).padStart(4, "0")}`,
        sessionID,
        messageID: id,
        ...part,
      })),
    });
    return id;
  };
  const addUser = (parts: readonly SessionPart[]): string =>
    add({ role: "user", agent: "build", model: LONG_WINDOW }, parts);
  const addAssistant = (parts: readonly SessionPart[], more: Record<string, unknown>): string =>
    add({ ...ASSISTANT, parentID: lastUserId(messages), ...more }, parts);

  return {
    user: (parts) => void addUser(parts),
    answer({ end, model, steps }) {
      const choice = model === "same" ? LONG_WINDOW : MIDDLE_WINDOW;
      addAssistant(
        steps.flatMap((step, index) => stepParts(step, `${idOf(sessionID, count + 1)}${index}`)),
        { ...choice, ...ENDS[end] },
      );
    },
    compaction({ trigger, summary, tail, text, continues }) {
      const tailId = tailStartOf(messages.slice(windowStart), tail);
      const markerIndex = messages.length;
      const marker = addUser([
        {
          type: "compaction",
          auto: trigger !== "manual",
          ...(trigger === "overflow" ? { overflow: true } : {}),
          ...(tailId === undefined ? {} : { tail_start_id: tailId }),
        },
      ]);
      const parent = summary === "adopted" ? addUser([{ type: "text", text: "Are you there?" }]) : marker;
      addAssistant([STEP_START, ...(summary === "empty" ? [] : [{ type: "text", text }]), STEP_FINISH], {
        ...LONG_WINDOW,
        ...(summary === "failed" ? ENDS.failed : summary === "killed" ? ENDS.killed : ENDS.said),
        parentID: parent,
        summary: true,
        mode: "compaction",
        agent: "compaction",
      });
      if (summary === "good" || summary === "empty") {
        const tailIndex = messages.findIndex(({ info }) => info.id === tailId);
        windowStart = tailIndex === -1 ? markerIndex : tailIndex;
      }
      if (continues) addUser([{ type: "text", text: "Continue if you have next steps.", synthetic: true }]);
    },
    session: () => ({
      info: {
        id: sessionID,
        slug: sessionID.slice(-8),
        projectID: "global",
        directory: "/",
        title: `Generated ${sessionID}`,
        version: OPENCODE_VERSION,
        time: { created: STARTED_MS, updated: STARTED_MS },
      },
      messages,
    }),
  };
}

const NO_TOKENS = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };

const ASSISTANT = {
  role: "assistant",
  mode: "build",
  agent: "build",
  path: { cwd: "/", root: "/" },
  cost: 0,
  tokens: NO_TOKENS,
};

const STEP_START = { type: "step-start" };
const STEP_FINISH = { type: "step-finish", reason: "stop", cost: 0, tokens: NO_TOKENS };

const ENDS: Readonly<Record<AnswerPlan["end"], Record<string, unknown>>> = {
  said: { finish: "stop" },
  called: { finish: "tool-calls" },
  length: { finish: "length" },
  failed: { error: { name: "APIError", data: { message: "Refused", isRetryable: false } } },
  aborted: { error: { name: "MessageAbortedError", data: { message: "Aborted" } } },
  killed: {},
};

/** Sorts before every id that the host gives, and after all that were given before. */
function idOf(sessionID: string, count: number): string {
  return `000${sessionID.slice(-8)}${String(count).padStart(6, "0")}`;
}

function lastUserId(messages: readonly SessionMessage[]): string {
  return messages.findLast(({ info }) => info.role === "user")?.info.id ?? "";
}

/** OpenCode lets a tail begin at a message of the window, and never at a marker or a summary. */
function tailStartOf(window: readonly SessionMessage[], tail: CompactionPlan["tail"]): string | undefined {
  if (tail === "none") return undefined;
  if (tail === "dangling") return "msg_gone";
  const candidates = window.filter(
    ({ info, parts }) => info.summary !== true && !parts.some(({ type }) => type === "compaction"),
  );
  return candidates[Math.min(candidates.length - 1, Math.floor(tail * candidates.length))]?.info.id;
}

function userPart(plan: UserPartPlan): SessionPart {
  switch (plan.type) {
    case "text":
      return {
        type: "text",
        text: plan.text,
        ...(plan.mark === "synthetic"
          ? { synthetic: true }
          : plan.mark === "ignored"
            ? { ignored: true }
            : {}),
      };
    case "file":
      return file(plan.mime);
    case "agent":
      return { type: "agent", name: "general" };
    case "subtask":
      return { type: "subtask", prompt: "Look.", description: "A look", agent: "general" };
    default:
      return plan satisfies never;
  }
}

const PICTURE_BYTES =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function file(mime: string): SessionPart {
  return {
    type: "file",
    mime,
    filename: `file.${mime.split("/")[1]}`,
    url: `data:${mime};base64,${PICTURE_BYTES}`,
  };
}

function stepParts({ reasoning, texts, calls }: StepPlan, prefix: string): readonly SessionPart[] {
  return [
    STEP_START,
    ...reasoning.map((text) => ({ type: "reasoning", text, time: { start: STARTED_MS, end: STARTED_MS } })),
    ...texts.map((text) => ({ type: "text", text })),
    ...calls.map((call, index) => toolPart(call, `call_${prefix}_${index}`)),
    STEP_FINISH,
  ];
}

function toolPart({ tool, input, state, output, attachments }: CallPlan, callID: string): SessionPart {
  return { type: "tool", tool, callID, state: { input, ...stateFields({ state, output, attachments }) } };
}

function stateFields({
  state,
  output,
  attachments,
}: Pick<CallPlan, "state" | "output" | "attachments">): Record<string, unknown> {
  const time = { start: STARTED_MS, end: STARTED_MS + 1 };
  switch (state) {
    case "done":
    case "cleared":
      return {
        status: "completed",
        output,
        title: "",
        metadata: {},
        time: state === "cleared" ? { ...time, compacted: STARTED_MS + 2 } : time,
        ...(attachments.length === 0 ? {} : { attachments: attachments.map(attachment) }),
      };
    case "failed":
      return { status: "error", error: output, time };
    case "stopped":
      return { status: "error", error: "Aborted", time, metadata: { interrupted: true, output } };
    case "running":
      return { status: "running", time: { start: STARTED_MS } };
    case "pending":
      return { status: "pending", raw: "" };
    default:
      return state satisfies never;
  }
}

function attachment(mime: string, index: number): Record<string, unknown> {
  return { id: `prt_attached${index}`, sessionID: "ses_any", messageID: "msg_any", ...file(mime) };
}
