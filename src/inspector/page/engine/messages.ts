import type { ForkProfile } from "../../../fork/context/options.ts";
import type { Message } from "../../../transcript/message.ts";
import type { MessageChange, SessionHead } from "../../view/protocol.ts";
import type {
  CompactionPreview,
  CompactionPreviewOptions,
  ForkPreview,
  InspectedSession,
  ItemPlace,
  ItemText,
  MessageRow,
  PolicyInfo,
  SearchMatch,
  WindowOptions,
  WindowView,
} from "../../view/types.ts";
import type { Side } from "../state/band-layout.ts";

/** What the page asks of the engine. JSON-safe. */
export type Question =
  | { readonly type: "windows"; readonly a: WindowOptions; readonly b?: WindowOptions }
  | { readonly type: "item"; readonly options: WindowOptions; readonly place: ItemPlace }
  | {
      readonly type: "child";
      readonly profile: ForkProfile;
      readonly budgetChars: number;
      readonly upTo: number;
    }
  | ({ readonly type: "compaction" } & CompactionPreviewOptions)
  | { readonly type: "search"; readonly query: string };

export type QuestionType = Question["type"];
export type QuestionOf<Type extends QuestionType> = Extract<Question, { readonly type: Type }>;

/** What the engine answers to each question. */
export interface Answers {
  readonly windows: Windows;
  /** Undefined when there is no such item. */
  readonly item: ItemText | undefined;
  /** One a way. */
  readonly child: readonly ForkPreview[];
  readonly compaction: CompactionPreview;
  readonly search: readonly SearchMatch[];
}

/** One policy, or two at the same moment, and all that can be chosen. */
export interface Windows {
  readonly policies: readonly PolicyInfo[];
  readonly a: WindowView;
  readonly b?: WindowView;
}

/** A question on its way, with what the engine does not know yet of the session. */
export interface EngineAsk {
  readonly sequence: number;
  readonly question: Question;
  /** Unset when the session is as it was. */
  readonly change?: SessionChange;
  /** The windows that whoever asks still has: rows that are the same there need not be sent again. */
  readonly knownWindows?: number;
}

/** An answer on its way back, or why there is none. Rows come ahead of the windows that they belong to. */
export type EngineReply = { readonly sequence: number } & (
  | { readonly type: "rows"; readonly side: Side; readonly rows: readonly MessageRow[] }
  | { readonly type: "windows"; readonly answer: SentWindows }
  | AnswerOf<Exclude<QuestionType, "windows">>
  | { readonly type: "failure"; readonly problem: string }
);

type AnswerOf<Type extends QuestionType> = {
  [Each in Type]: { readonly type: Each; readonly answer: Answers[Each] };
}[Type];

/** What of a session has changed since it was last sent; all of it the first time. */
interface SessionChange {
  readonly head: SessionHead;
  readonly batches?: NonNullable<InspectedSession["batches"]>;
  /** How many messages there are now; those beyond are gone. */
  readonly count: number;
  readonly changes: readonly MessageChange[];
}

/** Windows without their rows. */
export interface SentWindows {
  readonly policies: readonly PolicyInfo[];
  readonly a: SentView;
  readonly b?: SentView;
}

type SentView = Omit<WindowView, "rows"> & { readonly rowCount: number };

/** What turns one session into the other; messages that are the same objects are not named. */
export function diffSession(before: InspectedSession | undefined, after: InspectedSession): SessionChange {
  const { transcript, batches, ...head } = after;
  const changes: MessageChange[] = [];
  for (const [index, message] of transcript.entries()) {
    if (before?.transcript[index] !== message) changes.push({ index, message });
  }
  return { head, count: transcript.length, changes, ...(batches && { batches }) };
}

/** The session after a change; messages that it does not name stay the same objects. */
export function patchSession(before: InspectedSession | undefined, change: SessionChange): InspectedSession {
  const { head, batches, count, changes } = change;
  const transcript: Message[] = before?.transcript.slice(0, count) ?? [];
  for (const { index, message } of changes) transcript[index] = message;
  return { ...head, transcript, ...(batches && { batches }) };
}

/** A view and those of its rows that the other side does not have: a budget that moves a little changes few of ten thousand. */
export function diffView({ rows, ...rest }: WindowView, known: readonly MessageRow[]): SentRows {
  const changed = rows.filter((row, index) => row !== known[index]);
  const slices: (readonly MessageRow[])[] = [];
  for (let from = 0; from < changed.length; from += SLICE_ROWS) {
    slices.push(changed.slice(from, from + SLICE_ROWS));
  }
  return { view: { ...rest, rowCount: rows.length }, slices };
}

export interface SentRows {
  readonly view: SentView;
  /** The rows that differ, few enough at once that whoever reads them drops no frame. */
  readonly slices: readonly (readonly MessageRow[])[];
}

const SLICE_ROWS = 400;

/** The view again; rows that were not sent are the known objects. */
export function patchView({ rowCount, ...rest }: SentView, { changed, known }: ReceivedRows): WindowView {
  const rows = known.slice(0, rowCount);
  for (const row of changed) rows[row.index] = row;
  return { ...rest, rows };
}

interface ReceivedRows {
  readonly changed: readonly MessageRow[];
  readonly known: readonly MessageRow[];
}
