import { oneOf, optionsCheck, type Shape } from "../text/check.ts";
import { mapStrings } from "../text/json.ts";
import { isMalformed, normalizeText, normalizeTypedText } from "../text/normalize.ts";
import type { Edit, EditReason } from "../transcript/edit.ts";
import {
  isVisibleToModel,
  type Message,
  normalizePartText,
  reachesModel,
  type Transcript,
} from "../transcript/message.ts";
import {
  type CallId,
  COMPACTION_QUESTION,
  outcomeText,
  type Part,
  type TextPart,
  type ToolOutcome,
  type ToolPart,
  withText,
} from "../transcript/part.ts";

/** Edits after which no provider refuses the transcript for its structure: the last stage before anything is sent. */
export function repairPairing(
  messages: Transcript,
  options: RepairPairingOptions = NO_OPTIONS,
): readonly Edit[] {
  checkOptions(options);
  const edits: Edit[] = [];
  const callIds = new Set<CallId>();
  const leadingSystem: Message[] = [];
  let first: Message | undefined;
  let last: Message | undefined;
  let endsWithResults = false;
  for (const message of messages) {
    if (!isVisibleToModel(message)) continue;
    const repairs = message.parts.map((part) =>
      reachesModel(part) ? rewritten(part, repair({ message, part, callIds, options })) : undefined,
    );
    const isEmpty = !message.parts.some((part, index) => reachesModel(part) && repairs[index]?.part !== null);
    if (isEmpty) {
      edits.push({ type: "hide-message", messageId: message.id, stage: STAGE, reason: "empty" });
      continue;
    }
    for (const [partIndex, found] of repairs.entries()) {
      if (found !== undefined) edits.push(partEdit({ message, partIndex, ...found }));
    }
    if (message.role === "system") {
      if (first === undefined) leadingSystem.push(message);
      continue;
    }
    first ??= message;
    last = message;
    endsWithResults = message.parts.some((part, index) => isResult(part, repairs[index]));
  }
  if (first !== undefined && first.role !== "user") edits.push(insertFirst(first, leadingSystem.at(-1)));
  const isAnswered = last === undefined || (last.role === "assistant" && !endsWithResults);
  if (options.lastMessage === "user" && isAnswered) edits.push(insertLast(messages.at(-1)));
  return edits;
}

/** Options of `repairPairing`. */
export interface RepairPairingOptions {
  /** A call without a result gets a short one, or is left out. */
  readonly missingResult?: "stub" | "strip";
  /** A result without a call is left out, or becomes a plain text. */
  readonly orphanResult?: "drop" | "asText";
  /** A request has to end with a user message; a stored conversation may end with an answer. */
  readonly lastMessage?: "any" | "user";
}

const SHAPE: Shape<RepairPairingOptions> = {
  missingResult: oneOf("stub", "strip"),
  orphanResult: oneOf("drop", "asText"),
  lastMessage: oneOf("any", "user"),
};

const NO_OPTIONS: RepairPairingOptions = {};
const checkOptions = optionsCheck(SHAPE);

/** What the model reads where a request would end with its own answer. */
export const CONTINUE_REQUEST = "Continue.";

/** What the model reads in place of a missing result. */
export const MISSING_RESULT = "[Tool result not available]";

const STAGE = "repair-pairing";

/** The part in place of a broken one; null leaves it out. */
interface Repair {
  readonly part: Part | null;
  readonly reason: EditReason;
}

interface Subject {
  readonly message: Message;
  readonly part: Part;
  readonly callIds: Set<CallId>;
  readonly options: RepairPairingOptions;
}

function repair({ message, part, callIds, options }: Subject): Repair | undefined {
  if (part.type === "text") return repairText(message, part);
  if (part.type !== "tool") return undefined;
  if (part.callMissing) {
    return { part: options.orphanResult === "asText" ? asText(part) : null, reason: "orphan-result" };
  }
  if (callIds.has(part.callId)) return { part: null, reason: "duplicate-call" };
  callIds.add(part.callId);
  if (part.outcome.status !== "pending") return repairTool(part, part.outcome, "malformed-text");
  if (options.missingResult === "strip") return { part: null, reason: "missing-result" };
  return repairTool(part, { status: "done", output: MISSING_RESULT, attachments: [] }, "missing-result");
}

/** A part that is irregular in the foreign messages is written again, whatever else is wrong with it. */
function rewritten(part: Part, found: Repair | undefined): Repair | undefined {
  if (part.irregular === undefined) return found;
  if (found?.part === null) return found;
  const { irregular: _, ...regular } = found?.part ?? part;
  return { part: regular, reason: found?.reason ?? "irregular" };
}

function isResult(part: Part, found: Repair | undefined): boolean {
  const now = found === undefined ? part : found.part;
  return now?.type === "tool" && reachesModel(now) && now.outcome.status !== "pending";
}

function repairText(message: Message, part: TextPart): Repair | undefined {
  const text = isMalformed(part.text) ? normalizePartText(message, part) : part.text;
  if (text.trim() === "") return { part: null, reason: "empty" };
  return text === part.text ? undefined : { part: { ...part, text }, reason: "malformed-text" };
}

function repairTool(part: ToolPart, outcome: ToolOutcome, reason: EditReason): Repair | undefined {
  const input = mapStrings(part.input, normalizeTypedText);
  const clean = cleanOutcome(outcome);
  return input === part.input && clean === part.outcome
    ? undefined
    : { part: { ...part, input, outcome: clean }, reason };
}

function cleanOutcome(outcome: ToolOutcome): ToolOutcome {
  const text = outcomeText(outcome);
  return isMalformed(text) ? withText(outcome, normalizeText(text)) : outcome;
}

function asText(part: ToolPart): TextPart | null {
  const clean = normalizeText(outcomeText(part.outcome));
  return clean.trim() === "" ? null : { type: "text", text: clean, synthetic: true };
}

function partEdit({
  message,
  partIndex,
  part,
  reason,
}: Repair & { message: Message; partIndex: number }): Edit {
  const where = { messageId: message.id, partIndex, stage: STAGE, reason };
  return part === null
    ? { type: "hide-part", what: "part", ...where }
    : { type: "replace-part", part, ...where };
}

/** A conversation that starts with an answer gets the question that a compaction would have asked. */
function insertFirst(first: Message, lastSystem: Message | undefined): Edit {
  const said = { id: `${first.id}~first`, text: COMPACTION_QUESTION, kind: "hint" } as const;
  return insertUser(said, lastSystem, "first-message");
}

function insertLast(last: Message | undefined): Edit {
  const said = { id: `${last?.id ?? "request"}~last`, text: CONTINUE_REQUEST, kind: "continue" } as const;
  return insertUser(said, last, "last-message");
}

function insertUser(
  { id, text, kind }: { id: string; text: string; kind: "hint" | "continue" },
  before: Message | undefined,
  reason: EditReason,
): Edit {
  const parts = [{ type: "text", text, synthetic: true }] as const;
  const message: Message = { id, role: "user", parts, metadata: { kind, userVisible: false } };
  return { type: "insert-message", message, after: before?.id ?? null, stage: STAGE, reason };
}
