import { callWithin } from "../compaction/ports/call-within.ts";
import { errorText } from "../compaction/summary/text.ts";
import { deepEqual } from "../text/deep-equal.ts";
import { isObject } from "../text/unknown-value.ts";
import type { Edit } from "../transcript/edit.ts";
import { isVisibleToModel, type Message, type MessageId, type Transcript } from "../transcript/message.ts";
import { withoutPinned } from "./pinned.ts";
import type { Runtime } from "./runtime.ts";
import { isPaused, RUN_STAGE } from "./state.ts";
import { isEdit } from "./stored-state.ts";
import type { SessionView } from "./view.ts";
import { isOfCompaction } from "./window.ts";

/** The stage to call next, counted from 0; undefined when all were called for the messages as they are. */
export function dueStage({ options, state }: SessionView): number | undefined {
  const { stages = [] } = options;
  if (stages.length === 0 || state.history.messages.length === 0) return undefined;
  const { hung, arrivals, next } = state.stages;
  const first = arrivals === state.arrivals ? next : 0;
  const due = stages.findIndex((_, index) => index >= first && (hung[index] ?? 0) < MAX_HANGS);
  if (due === -1) return undefined;
  // What a person has taken back is not done again at once.
  return isPaused(state) && state.undoneStep === RUN_STAGE ? undefined : due;
}

/** How a stage is called in the journal and in warnings. */
export function stageLabel({ stages }: Pick<SessionView["options"], "stages">, index: number): string {
  const name = stages?.[index]?.name;
  return name ? `stage ${index + 1} (${name})` : `stage ${index + 1}`;
}

/** Calls one stage; gives what can be used of its edits, or undefined when the signal ended it. A failure is a warning, told once for each stage. */
export async function callStage(
  runtime: Runtime,
  index: number,
  signal: AbortSignal,
): Promise<readonly Edit[] | undefined> {
  const { options, ports } = runtime;
  const stage = options.stages?.[index];
  if (stage === undefined) return [];
  const given = shownMessages(runtime.view());
  const { arrivals } = runtime.state();
  // Before the call, so that nothing that it does leads to another one for the same messages.
  runtime.change({ type: "stage-called", arrivals, next: index + 1 });
  const result = await callWithin<unknown>({
    start: async () => stage(given),
    // One that hangs takes its whole time but once.
    limitMs: STAGE_LIMIT_MS / 10 ** (runtime.state().stages.hung[index] ?? 0),
    clock: ports.clock,
    signal,
  });
  if (result.status === "aborted" || signal.aborted) {
    runtime.change({ type: "stage-called", arrivals, next: index });
    return undefined;
  }
  const isHung = result.status !== "done" && result.status !== "failed";
  const hangs = isHung ? (runtime.state().stages.hung[index] ?? 0) + 1 : 0;
  runtime.change({ type: "stage-called", arrivals, next: index + 1, hung: { [index]: hangs } });
  const problem =
    result.status === "done"
      ? findProblem(result.value, given)
      : result.status === "failed"
        ? `threw: ${errorText(result.error)}`
        : `took longer than ${STAGE_LIMIT_MS / 1_000} seconds; after ${MAX_HANGS} times in a row it is not called again`;
  if (result.status === "done" && problem === undefined)
    return withoutPinned(runtime.view(), effectiveEdits(result.value as readonly Edit[], given));
  runtime.warnOnce(
    "stage-failed",
    `Of the option stages, ${stageLabel(options, index)} ${problem}`,
    `stage ${index}`,
  );
  return [];
}

/** How long a stage may take, a tenth of it after each time that it took longer, and how often in a row it may. */
const STAGE_LIMIT_MS = 5_000;
const MAX_HANGS = 3;

/** What the model sees, as the messages stand in the transcript: so part indexes hold. */
function shownMessages({ state, window }: SessionView): Transcript {
  const shown = new Set(window.marked.map(({ id }) => id));
  return state.history.transcript.filter((message) => shown.has(message.id) && !isOpen(message));
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
