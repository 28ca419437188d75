import { callWithin } from "../compaction/ports/call-within.ts";
import { errorText } from "../compaction/summary/text.ts";
import { deepEqual, isObject } from "../text/json.ts";
import type { Edit } from "../transcript/edit.ts";
import { isVisibleToModel, type Message, type MessageId, type Transcript } from "../transcript/message.ts";
import type { SessionCore } from "./core.ts";
import { isPaused, RUN_STAGE } from "./memory.ts";
import { withoutPinned } from "./prune.ts";
import { isEdit } from "./state.ts";
import { isOfCompaction } from "./window.ts";

/** The stage to call next, counted from 0; undefined when all were called for the messages as they are. */
export function dueStage({ options, memory, history }: SessionCore): number | undefined {
  const { stages = [] } = options;
  const source = history.source();
  if (stages.length === 0 || source.length === 0) return undefined;
  const { hung, ...called } = memory.stages;
  const first = called.source === source ? called.next : 0;
  const due = stages.findIndex((_, index) => index >= first && (hung.get(index) ?? 0) < MAX_HANGS);
  if (due === -1) return undefined;
  // What a person has taken back is not done again at once.
  const undone = isPaused(memory) ? memory.ledger.findLast(({ outcome }) => outcome === "undone") : undefined;
  return undone?.step === RUN_STAGE ? undefined : due;
}

/** How a stage is called in the journal and in warnings. */
export function stageLabel({ options }: SessionCore, index: number): string {
  const name = options.stages?.[index]?.name;
  return name ? `stage ${index + 1} (${name})` : `stage ${index + 1}`;
}

/** Calls one stage; gives what can be used of its edits, or undefined when the signal ended it. A failure is a warning, told once for each stage. */
export async function callStage(
  core: SessionCore,
  index: number,
  signal: AbortSignal,
): Promise<readonly Edit[] | undefined> {
  const { options, memory, history, log, ports } = core;
  const stage = options.stages?.[index];
  if (stage === undefined) return [];
  const { stages } = memory;
  const source = history.source();
  const given = shownMessages(core);
  // Before the call, so that nothing that it does leads to another one for the same messages.
  Object.assign(stages, { source, next: index + 1 });
  const result = await callWithin<unknown>({
    start: async () => stage(given),
    limitMs: STAGE_LIMIT_MS,
    clock: ports.clock,
    signal,
  });
  if (result.status === "aborted" || signal.aborted) {
    stages.next = index;
    return undefined;
  }
  const isHung = result.status !== "done" && result.status !== "failed";
  stages.hung.set(index, isHung ? (stages.hung.get(index) ?? 0) + 1 : 0);
  const problem =
    result.status === "done"
      ? findProblem(result.value, given)
      : result.status === "failed"
        ? `threw: ${errorText(result.error)}`
        : `took longer than ${STAGE_LIMIT_MS / 1_000} seconds; after ${MAX_HANGS} times in a row it is not called again`;
  if (result.status === "done" && problem === undefined)
    return withoutPinned(core, effectiveEdits(result.value as readonly Edit[], given));
  if (!stages.told.has(index)) {
    stages.told.add(index);
    log.warn("stage-failed", `Of the option stages, ${stageLabel(core, index)} ${problem}`);
  }
  return [];
}

/** How long a stage may take, and how often in a row it may take longer. */
const STAGE_LIMIT_MS = 5_000;
const MAX_HANGS = 3;

/** What the model sees, as the messages stand in the transcript: so part indexes hold. */
function shownMessages({ history, window }: SessionCore): Transcript {
  const shown = new Set(window().marked.map(({ id }) => id));
  return history.transcript().filter((message) => shown.has(message.id) && !isOpen(message));
}

/** An edit of what waits for a result would take the result's place. */
function isOpen({ parts, unfinished }: Message): boolean {
  return (
    unfinished === true || parts.some((part) => part.type === "tool" && part.outcome.status === "pending")
  );
}

/** Why an answer cannot be used; a part of it alone might hide what another part stands for. */
function findProblem(answer: unknown, given: Transcript): string | undefined {
  if (!Array.isArray(answer)) return "gave no list of edits; nothing of it is used";
  const known = new Map(given.map((message) => [message.id, message]));
  for (const [place, edit] of answer.entries()) {
    const which = `gave an edit (number ${place + 1})`;
    if (!isEdit(edit) || !isOmitted(edit.omitted)) return `${which} that is none; nothing of it is used`;
    const unknown = messageIdsOf(edit).find((id) => !known.has(id));
    if (unknown !== undefined)
      return `${which} of the message ${unknown}, which it was not given; nothing of it is used`;
    if ("partIndex" in edit && known.get(edit.messageId)?.parts[edit.partIndex] === undefined)
      return `${which} of a part that ${edit.messageId} does not have; nothing of it is used`;
    if (edit.type === "insert-message" && !known.has(edit.message.id))
      known.set(edit.message.id, edit.message);
  }
  return undefined;
}

function isOmitted(value: unknown): boolean {
  return (
    value === undefined ||
    (isObject(value) && Number.isFinite(value.chars) && typeof value.handle === "string")
  );
}

function messageIdsOf(edit: Edit): readonly MessageId[] {
  const after = "after" in edit && edit.after !== null ? [edit.after] : [];
  return edit.type === "insert-message" ? after : [edit.messageId, ...after];
}

/** Without what is so already, and without what would take a compaction away. */
function effectiveEdits(edits: readonly Edit[], given: Transcript): readonly Edit[] {
  const known = new Map(given.map((message) => [message.id, message]));
  return edits.filter((edit) => {
    if (edit.type === "insert-message") return !known.has(edit.message.id);
    const message = known.get(edit.messageId);
    if (message === undefined) return true;
    if (!("partIndex" in edit)) return !isOfCompaction(message) && isVisibleToModel(message);
    const part = message.parts[edit.partIndex];
    if (part === undefined || part.agentVisible === false) return false;
    if (edit.type === "replace-part")
      return !deepEqual(part, edit.part) && (part.type === "text" || !isOfCompaction(message));
    const isCleared = edit.what === "output" && part.type === "tool" && part.clearedAt !== undefined;
    return !isCleared && !isOfCompaction(message);
  });
}
