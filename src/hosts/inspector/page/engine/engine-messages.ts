import type { ForkProfile } from "../../../../fork/fork-options.ts";
import type { MessageChange, SessionHead } from "../../view/live.ts";
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
import type { Side } from "../strata/lay-bands.ts";

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
export interface SessionChange {
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

export type SentView = Omit<WindowView, "rows"> & { readonly rowCount: number };
