import { NO_OPTIONS, oneOf, optionsCheck, type Shape } from "../text/check.ts";
import { mapStrings } from "../text/map-strings.ts";
import { isMalformed, normalizeText, normalizeTypedText } from "../text/normalize.ts";
import { outcomeText } from "../transcript/content.ts";
import { type Edit, type EditReason, hideMessage, hidePart } from "../transcript/edit.ts";
import {
  createCallNamer,
  isVisibleToModel,
  type Message,
  normalizePartText,
  opensWithProviderBlock,
  reachesModel,
  type Transcript,
  withCallNames,
  withText,
} from "../transcript/message.ts";
import {
  COMPACTION_QUESTION,
  type Part,
  type TextPart,
  type ToolOutcome,
  type ToolPart,
} from "../transcript/part.ts";

/** Edits after which no provider refuses the structure of the transcript. Must be the last stage before sending. */
export function repairPairing(
  messages: Transcript,
  options: RepairPairingOptions = NO_OPTIONS,
): readonly Edit[] {
  checkOptions(options);
  const edits: Edit[] = [];
  const nameCall = createCallNamer();
  const leadingSystem: Message[] = [];
  let first: Message | undefined;
  let last: Message | undefined;
  let endsWithResults = false;
  for (const message of messages) {
    const named = withCallNames(message, nameCall);
    if (!isVisibleToModel(message)) continue;
    const repairs = message.parts.map((part, index) =>
      reachesModel(part)
        ? rewritten(part, repair({ message, part, named: named.parts[index], options }))
        : undefined,
    );
    const isEmpty = !message.parts.some((part, index) => reachesModel(part) && repairs[index]?.part !== null);
    if (isEmpty) {
      edits.push(hideMessage(message, { stage: STAGE, reason: "empty" }));
      continue;
    }
    for (const [partIndex, before] of message.parts.entries()) {
      const found = repairs[partIndex];
      if (found !== undefined) edits.push(partEdit({ message, partIndex, before, ...found }));
    }
    if (message.role === "system") {
      if (first === undefined) leadingSystem.push(message);
      continue;
    }
    first ??= message;
    last = message;
    endsWithResults = message.parts.some((part, index) => isResult(part, repairs[index]));
  }
  const isOpened = first === undefined || first.role === "user" || opensWithProviderBlock(first);
  if (first !== undefined && !isOpened) edits.push(insertFirst(first, leadingSystem.at(-1)));
  const isAnswered = last === undefined || (last.role === "assistant" && !endsWithResults);
  if (options.lastMessage === "user" && isAnswered) edits.push(insertLast(messages.at(-1)));
  return edits;
}

/** Options of `repairPairing`. */
export interface RepairPairingOptions {
  /** A call without a result gets a short one, or is left out. @default stub */
  readonly missingResult?: "stub" | "strip";
  /** A result without a call is left out, or becomes a plain text. @default drop */
  readonly orphanResult?: "drop" | "asText";
  /** A request has to end with a user message; a stored conversation may end with an answer. @default any */
  readonly lastMessage?: "any" | "user";
}

const SHAPE: Shape<RepairPairingOptions> = {
  missingResult: oneOf("stub", "strip"),
  orphanResult: oneOf("drop", "asText"),
  lastMessage: oneOf("any", "user"),
};

const checkOptions = optionsCheck(SHAPE);

/** What the model reads where a request would end with its own answer. */
export const CONTINUE_REQUEST = "Continue.";

/** What the model reads in place of a missing result. */
const MISSING_RESULT = "[Tool result not available]";

const STAGE = "repair-pairing";

/** The part in place of a broken one; null leaves it out. */
interface Repair {
  readonly part: Part | null;
  readonly reason: EditReason;
}

interface Subject {
  readonly message: Message;
  readonly part: Part;
  /** The part, renamed when an earlier call has the same id. */
  readonly named: Part | undefined;
  readonly options: RepairPairingOptions;
}

function repair({ message, part, named = part, options }: Subject): Repair | undefined {
  // Blocks made by the provider go back unchanged.
  if (part.providerBlock !== undefined) return undefined;
  if (part.type === "text") return repairText(message, part);
  if (part.type !== "tool" || named.type !== "tool") return undefined;
  if (part.callMissing) {
    return { part: options.orphanResult === "asText" ? asText(part) : null, reason: "orphan-result" };
  }
  const found = repairCall(named, options);
  return found ?? (named === part ? undefined : { part: named, reason: "duplicate-call" });
}

function repairCall(part: ToolPart, { missingResult }: RepairPairingOptions): Repair | undefined {
  if (part.outcome.status !== "pending") return repairTool(part, part.outcome, "malformed-text");
  if (missingResult === "strip") return { part: null, reason: "missing-result" };
  return repairTool(part, { status: "done", output: MISSING_RESULT, attachments: [] }, "missing-result");
}

/** Rewrites a part that is irregular in the source, whatever else is wrong with it. */
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

function partEdit({ message, partIndex, before, part, reason }: PlacedRepair): Edit {
  const why = { stage: STAGE, reason };
  return part === null
    ? hidePart({ message, partIndex, part: before }, why)
    : { type: "replace-part", part, messageId: message.id, partIndex, ...why };
}

interface PlacedRepair extends Repair {
  readonly message: Message;
  readonly partIndex: number;
  readonly before: Part;
}

/**
 * Inserts a question before a conversation that starts with an answer: the one that a compaction would have asked.
 */
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
