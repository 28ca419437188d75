import { createInspection } from "../../view/inspection.ts";
import type { MessageChange, SessionHead } from "../../view/protocol.ts";
import type {
  CompactionPreview,
  CompactionPreviewOptions,
  ForkPreviewOptions,
  ForkPreviews,
  InspectedSession,
  Inspection,
  ItemPlace,
  ItemText,
  KeptByPolicy,
  LostContent,
  MessageRow,
  PolicyBudget,
  PolicyInfo,
  PolicyResult,
  SearchMatch,
  WindowOptions,
  WindowOverTime,
  WindowView,
} from "../../view/types.ts";
import type { Side } from "../state/band-layout.ts";

/** Creates the engine side: answers questions about one session, on whatever thread it runs. Never throws. */
export function createAnswerer(): Answerer {
  let inspection: Inspection | undefined;
  /** The windows that were sent last. */
  let lastWindows: ({ readonly sequence: number } & Omit<Windows, "policies" | "budget">) | undefined;

  function updateInspection({ change }: EngineAsk): Inspection {
    if (change !== undefined) {
      const session = patchSession(inspection?.session, change);
      inspection = inspection?.extend(session) ?? createInspection(session);
    }
    if (inspection === undefined) throw new Error("The session was not sent yet");
    return inspection;
  }

  function windowReplies(ask: EngineAsk, { a, b }: QuestionOf<"windows">): readonly EngineReply[] {
    const { policies, budget, inspectWindow } = updateInspection(ask);
    const { sequence } = ask;
    const known = lastWindows?.sequence === ask.knownWindows ? lastWindows : undefined;
    const views = { a: inspectWindow(a), ...(b && { b: inspectWindow(b) }) };
    lastWindows = { sequence, ...views };
    const sentA = diffView(views.a, known?.a.rows ?? []);
    const sentB = views.b && diffView(views.b, known?.b?.rows ?? []);
    const rowsOf = (side: Side, sent: SentRows | undefined): readonly EngineReply[] =>
      (sent?.slices ?? []).map((rows) => ({ sequence, type: "rows", side, rows }));
    const answer: SentWindows = { policies, budget, a: sentA.view, ...(sentB && { b: sentB.view }) };
    return [...rowsOf("a", sentA), ...rowsOf("b", sentB), { sequence, type: "windows", answer }];
  }

  function replyTo(ask: EngineAsk, question: Exclude<Question, QuestionOf<"windows">>): EngineReply {
    const { sequence } = ask;
    const inspection = updateInspection(ask);
    const { itemText, previewForks, previewCompaction, search, windowOverTime } = inspection;
    switch (question.type) {
      case "item":
        return { sequence, type: "item", answer: itemText(question.options, question.place) };
      case "child":
        return { sequence, type: "child", answer: previewForks(question) };
      case "compaction":
        return { sequence, type: "compaction", answer: previewCompaction(question) };
      case "lost":
        return { sequence, type: "lost", answer: inspection.lostContent() };
      case "policies":
        return { sequence, type: "policies", answer: inspection.comparePolicies(question) };
      case "kept":
        return { sequence, type: "kept", answer: inspection.keptByPolicies(question) };
      case "over-time":
        return { sequence, type: "over-time", answer: windowOverTime() };
      case "search":
        return { sequence, type: "search", answer: search(question.query) };
      default:
        return question satisfies never;
    }
  }

  return (ask) => {
    try {
      const { question } = ask;
      return question.type === "windows" ? windowReplies(ask, question) : [replyTo(ask, question)];
    } catch (error) {
      return [{ sequence: ask.sequence, type: "failure", problem: String(error) }];
    }
  };
}

/** Gives one reply, preceded by the rows of windows. */
type Answerer = (ask: EngineAsk) => readonly EngineReply[];

/** Answers the messages that a worker receives. */
export function serveWorker(scope: WorkerScope, answer: Answerer): void {
  scope.addEventListener("message", ({ data }) => {
    for (const reply of answer(data as EngineAsk)) scope.postMessage(reply);
  });
}

/** The part of a worker's global object that is used. */
export interface WorkerScope {
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  postMessage(message: unknown): void;
}

/** What the page asks of the engine. JSON-safe. */
export type Question =
  | { readonly type: "windows"; readonly a: WindowOptions; readonly b?: WindowOptions }
  | { readonly type: "item"; readonly options: WindowOptions; readonly place: ItemPlace }
  | ({ readonly type: "child" } & ForkPreviewOptions)
  | ({ readonly type: "compaction" } & CompactionPreviewOptions)
  | { readonly type: "over-time" }
  | { readonly type: "lost" }
  | { readonly type: "policies"; readonly upTo: number; readonly budgetTokens: number }
  | { readonly type: "kept"; readonly budgetTokens: number }
  | { readonly type: "search"; readonly query: string };

export type QuestionType = Question["type"];
export type QuestionOf<Type extends QuestionType> = Extract<Question, { readonly type: Type }>;

/** What the engine answers to each question. */
export interface Answers {
  readonly windows: Windows;
  /** Undefined when there is no such item. */
  readonly item: ItemText | undefined;
  readonly child: ForkPreviews;
  readonly compaction: CompactionPreview;
  readonly "over-time": WindowOverTime;
  readonly lost: readonly LostContent[];
  readonly policies: readonly PolicyResult[];
  readonly kept: readonly KeptByPolicy[];
  readonly search: readonly SearchMatch[];
}

/** The view of one policy, or of two at the same moment, and the policies that can be chosen. */
export interface Windows<View = WindowView> {
  readonly policies: readonly PolicyInfo[];
  /** The budget that they share. */
  readonly budget: PolicyBudget;
  readonly a: View;
  readonly b?: View;
}

/** A question on its way, with what changed of the session since the last one. */
export interface EngineAsk {
  readonly sequence: number;
  readonly question: Question;
  /** Unset when the session is unchanged. */
  readonly change?: SessionChange;
  /** The windows that the page has: rows that are the same there need not be sent again. */
  readonly knownWindows?: number;
}

/** An answer on its way back, or why there is none. Rows precede the windows that they belong to. */
export type EngineReply = { readonly sequence: number } & (
  | { readonly type: "rows"; readonly side: Side; readonly rows: readonly MessageRow[] }
  | { readonly type: "windows"; readonly answer: SentWindows }
  | AnswerOf<Exclude<QuestionType, "windows">>
  | { readonly type: "failure"; readonly problem: string }
);

type AnswerOf<Type extends QuestionType> = {
  [Each in Type]: { readonly type: Each; readonly answer: Answers[Each] };
}[Type];

/** What changed of a session since it was last sent; all of it the first time. */
interface SessionChange {
  readonly head: SessionHead;
  readonly batches?: NonNullable<InspectedSession["batches"]>;
  /** How many messages there are now; those beyond are gone. */
  readonly count: number;
  readonly changes: readonly MessageChange[];
}

/** The change from one session to another; messages that are the same objects are left out. */
export function diffSession(before: InspectedSession | undefined, after: InspectedSession): SessionChange {
  const { transcript, batches, ...head } = after;
  const changes: MessageChange[] = [];
  for (const [index, message] of transcript.entries()) {
    if (before?.transcript[index] !== message) changes.push({ index, message });
  }
  return { head, count: transcript.length, changes, ...(batches && { batches }) };
}

/** The session after a change; messages that were left out stay the same objects. */
export function patchSession(before: InspectedSession | undefined, change: SessionChange): InspectedSession {
  const { head, batches, count, changes } = change;
  const transcript = before?.transcript.slice(0, count) ?? [];
  for (const { index, message } of changes) transcript[index] = message;
  return { ...head, transcript, ...(batches && { batches }) };
}

/** Windows without their rows. */
export type SentWindows = Windows<SentView>;

type SentView = Omit<WindowView, "rows"> & { readonly rowCount: number };

/** A view with the rows that the page does not have yet: moving a budget slider changes few of ten thousand rows. */
export function diffView({ rows, ...rest }: WindowView, known: readonly MessageRow[]): SentRows {
  const changed = rows.filter((row, index) => row !== known[index]);
  const slices: (readonly MessageRow[])[] = [];
  for (let from = 0; from < changed.length; from += SLICE_ROWS) {
    slices.push(changed.slice(from, from + SLICE_ROWS));
  }
  return { view: { ...rest, rowCount: rows.length }, slices };
}

interface SentRows {
  readonly view: SentView;
  /** The changed rows, in slices small enough that reading one drops no frame. */
  readonly slices: readonly (readonly MessageRow[])[];
}

const SLICE_ROWS = 400;

/** Rebuilds the view; rows that were not sent are taken from the known ones. */
export function patchView(
  { rowCount, ...rest }: SentView,
  { changed, known }: { readonly changed: readonly MessageRow[]; readonly known: readonly MessageRow[] },
): WindowView {
  const rows = known.slice(0, rowCount);
  for (const row of changed) rows[row.index] = row;
  return { ...rest, rows };
}
