import type { SessionCost } from "../../cost/explain-cost.ts";
import type { InheritMode } from "../../fork/context/choose-inherit-mode.ts";
import type { ForkProfile } from "../../fork/context/options.ts";
import type { FormatName } from "../../formats/registry.ts";
import type { ModelRow } from "../../models/model-row.ts";
import type { EditBatch } from "../../session/history.ts";
import type { Handle } from "../../transcript/edit.ts";
import type { MessageId, Role, Transcript } from "../../transcript/message.ts";

/** Everything the page gets about one session. JSON-safe. */
export interface InspectedSession {
  /** Where it was read from, for a person. */
  readonly name: string;
  readonly title?: string;
  readonly format: FormatName;
  readonly sessionId?: string;
  readonly model?: string;
  /** The model's window. */
  readonly windowTokens: number;
  /** False where the window is a guess. */
  readonly windowKnown: boolean;
  /** Facts about models that the user gave. */
  readonly models?: readonly ModelRow[];
  readonly workingDirectory?: string;
  readonly transcript: Transcript;
  /** Edits that the plugin has in force, oldest batch first; what is sent includes them. */
  readonly batches?: readonly EditBatch[];
  /** What its requests cost and why the cache was missed, where the file records that. */
  readonly cost?: SessionCost;
  /** How many secrets were replaced before the session was shown. */
  readonly redactedSecrets: number;
  readonly problems: readonly string[];
}

/** What became of an item. */
export type Fate = "kept" | "clipped" | "cleared" | "summarized" | "hidden" | "superseded";

/** A way to decide what stays; each runs the engine itself. */
export type PolicyId =
  | "as-sent"
  | "session"
  | "fill"
  | "fixed"
  | "lines"
  | "prune"
  | "supersede"
  | "local-summary"
  | "last-n";

export interface PolicyInfo {
  readonly id: PolicyId;
  /** A few words for a menu. */
  readonly label: string;
  /** One sentence. */
  readonly about: string;
  /** What its slider sets; unset when there is nothing to set. */
  readonly budget?: PolicyBudget;
}

export interface PolicyBudget {
  readonly unit: "chars" | "tokens";
  /** What the number stands for, in a few words. */
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly default: number;
}

/** Which policy looks at how much of a session. */
export interface WindowOptions {
  readonly policy: PolicyId;
  /** In the policy's unit; its default when unset. */
  readonly budget?: number;
  /** Limit for the whole window: the policy gets the largest own budget that stays within it. */
  readonly budgetTokens?: number;
  /** How many messages from the start have happened; all when unset. */
  readonly upTo?: number;
}

/** What a policy makes of the first `upTo` messages. */
export interface WindowView extends Sizes {
  readonly policy: PolicyId;
  /** The budget that was applied, within its limits. */
  readonly budget?: number;
  /** The limit that was asked for; a policy that cannot remove more exceeds it. */
  readonly budgetTokens?: number;
  readonly upTo: number;
  /** The size of the window, as shown everywhere on the page. */
  readonly size: ShownSize;
  /** One a message, oldest first, also for those before a compaction. Rows of messages that share a fate are the same objects from view to view. */
  readonly rows: readonly MessageRow[];
  /** Messages that the policy puts in, such as a summary. */
  readonly inserted: readonly InsertedRow[];
  /** Indexes of the messages at which a recorded compaction lies. */
  readonly boundaries: readonly number[];
  /** What is unchanged from the start of the request that the provider read last. */
  readonly cachedPrefix: CachedPrefix;
  readonly byFate: readonly (Sizes & { readonly fate: Fate; readonly items: number })[];
  readonly byTool: readonly NamedTotal[];
  readonly byFile: readonly NamedTotal[];
  /** One row a stage and reason, the largest saving first. */
  readonly byReason: readonly ReasonTotal[];
}

/** Sums over rows: `Before` counts everything recorded, `After` what the model would be sent. */
export interface Sizes {
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly charsBefore: number;
  readonly charsAfter: number;
}

/**
 * The size of a window: the provider's count plus estimates of later messages; for another policy, minus what it
 * removes.
 */
export interface ShownSize {
  readonly tokens: number;
  /** `usage`: mostly counted by the provider. */
  readonly source: "usage" | "heuristic";
  /** What of it is not in the messages: system prompt, tool definitions, thinking that is not recorded. 0 when unknown. */
  readonly outsideTokens: number;
  /** Factor for text estimates, so that they and `outsideTokens` add up to the size. */
  readonly scale: number;
}

/** Tokens by what they are. `system` has the tool definitions too, `other` pictures and what was not recorded. */
export type KindTokens = Readonly<
  Record<
    "system" | "summary" | "user" | "agent" | "reasoning" | "tool input" | "tool output" | "other",
    number
  >
>;

/** The window at one request, with its answer. */
export interface WindowPoint {
  /** Index of the message that answered. */
  readonly index: number;
  readonly tokens: number;
  readonly kinds: KindTokens;
  /** Whether the provider counted it. */
  readonly isCounted: boolean;
}

/** A compaction that was made, with the windows of the requests around it. */
export interface CompactionMoment {
  /** Index of its summary. */
  readonly index: number;
  readonly atMs?: number;
  readonly tokensBefore?: number;
  /** Unset while nothing was asked since. */
  readonly tokensAfter?: number;
}

export interface WindowOverTime {
  /** One a request, oldest first. */
  readonly points: readonly WindowPoint[];
  readonly compactions: readonly CompactionMoment[];
  /** What system prompt and tool definitions take; 0 when it was not counted. */
  readonly systemTokens: number;
}

export interface CachedPrefix {
  /** How many of the messages that are sent are read from the cache. */
  readonly messages: number;
  readonly tokens: number;
  /** Index behind the last row that belongs to it; 0 when nothing does. */
  readonly endIndex: number;
}

export interface NamedTotal extends Sizes {
  /** Name of the tool, or path of the file. */
  readonly name: string;
  readonly items: number;
}

export interface ReasonTotal {
  /** The edit's stage; `recorded` for what the session's own program had left out already. */
  readonly stage: string;
  readonly reason: string;
  readonly fate: Fate;
  /** A sentence for a person. */
  readonly about: string;
  readonly items: number;
  readonly savedChars: number;
  readonly savedTokens: number;
}

/** One message as it was recorded and what is left of it. */
export interface MessageRow {
  readonly index: number;
  readonly id: MessageId;
  readonly role: Role;
  readonly tokens: number;
  readonly keptTokens: number;
  /** The fate of most of its tokens. */
  readonly fate: Fate;
  readonly items: readonly ItemRow[];
  /** Milliseconds since 1970, where the source knows it. */
  readonly atMs?: number;
}

/** A message that the policy inserted before the row with this index. */
export interface InsertedRow {
  readonly beforeIndex: number;
  readonly id: MessageId;
  readonly role: Role;
  readonly kind: "summary" | "marker" | "other";
  readonly text: string;
  readonly chars: number;
  readonly tokens: number;
  readonly stage: string;
  readonly reason: string;
  /** A sentence for a person. */
  readonly about: string;
}

/** One thing that takes room. A call has two: its input and its output. */
export interface ItemRow {
  /** Unique in a session. */
  readonly key: string;
  readonly kind: TextKind | "marker" | "unknown";
  readonly partIndex: number;
  readonly side: ItemSide;
  readonly tool?: string;
  readonly failed?: true;
  readonly path?: string;
  /** Where its whole text can be recalled. */
  readonly handle: Handle;
  readonly chars: number;
  readonly tokens: number;
  readonly keptChars: number;
  readonly keptTokens: number;
  readonly savedChars: number;
  readonly savedTokens: number;
  readonly fate: Fate;
  /** A sentence for a person; unset on what is kept whole. */
  readonly reason?: string;
  /** The stage that decided; `recorded` when the session's own program did. */
  readonly stage?: string;
  /** The reason as the edit names it. */
  readonly reasonId?: string;
}

/** Whose text it is, or which part of a call. */
export type TextKind =
  | "system"
  | "user"
  | "agent"
  | "summary"
  | "reasoning"
  | "tool input"
  | "tool output"
  | "media";

/** Which text of a part; `text` for every part that is no call, `media` for pictures and other files. */
export type ItemSide = "text" | "input" | "output" | "media";

/** Which item of a session. */
export interface ItemPlace {
  readonly messageId: MessageId;
  readonly partIndex: number;
  readonly side: ItemSide;
}

/** An item before and after, with the places that were cut. Inputs are shown without JSON's escapes. */
export interface ItemText {
  readonly before: string;
  readonly after: string;
  /** What of `before` is not in `after`, as UTF-16 offsets; in order, not overlapping. */
  readonly cuts: readonly TextRange[];
  /** What of `after` is not in `before`, such as a marker. */
  readonly added: readonly TextRange[];
}

export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Options of what a child would inherit. */
export interface ForkPreviewOptions {
  readonly profile: ForkProfile;
  readonly budgetChars?: number;
  /** The same as tokens of the whole window of the child, as for a policy. */
  readonly budgetTokens?: number;
  readonly upTo?: number;
}

export type ForkPreviews = Readonly<Record<InheritMode, ForkPreview>>;

export interface ForkPreview {
  readonly mode: InheritMode;
  /** Exactly what the child reads before its task. */
  readonly text: string;
  readonly chars: number;
  readonly tokens: number;
  readonly messages: number;
  /** What the engine would choose now for a child with the same model. */
  readonly chosen: { readonly mode: InheritMode; readonly reason: string };
  readonly cache: CacheCost;
}

export interface CompactionPreviewOptions {
  readonly upTo?: number;
  /** How much of the newest part stays unchanged; the engine's default when unset. */
  readonly keepTokens?: number;
}

export type CompactionPreview =
  | (Sizes & {
      readonly status: "planned";
      /** The summary, made without a model. */
      readonly summary: string;
      /** All that the model would read after it. */
      readonly text: string;
      readonly replacedMessages: number;
      readonly keptMessages: number;
      /** Index of the first message that stays; unset when none does. */
      readonly firstKeptIndex?: number;
      /** The request that a model would be sent for a summary. */
      readonly request: { readonly system: string; readonly prompt: string; readonly tokens: number };
      readonly cache: CacheCost;
    })
  | { readonly status: "nothing"; readonly reason: string };

/** What a change costs at the provider's prices. A `BaseToken` costs as much as an ordinary input token. */
export interface CacheCost {
  /** Whether the cache prices of this very model are known; otherwise they are assumed. */
  readonly pricesKnown: boolean;
  readonly readMultiplier: number;
  readonly writeMultiplier: number;
  /** Tokens of the next request that are read from the cache, and those that are written to it. */
  readonly readTokens: number;
  readonly writtenTokens: number;
  /** The next request, and the same when nothing is changed. */
  readonly firstBaseTokens: number;
  readonly appendOnlyBaseTokens: number;
  /** Over the expected number of requests, relative to changing nothing: 0.5 is half the price. */
  readonly relativeCost: number;
  readonly expectedSteps: number;
  /** From how many requests on the shorter one is cheaper; unset when it never is. */
  readonly breakEvenSteps?: number;
}

/** What a compaction kept and what was needed of the rest, by the eval's measure: what the agent used in its next steps and could only know from before. */
export interface LostContent extends CompactionMoment {
  /** Its summary. */
  readonly summary: string;
  readonly summarizedMessages: number;
  readonly keptMessages: number;
  /** How many names, paths and lines the next steps used; how many of them were still before the model. */
  readonly neededCount: number;
  readonly keptCount: number;
  /** Those that were not, with what they are. */
  readonly missing: readonly { readonly name: string; readonly kind: string }[];
  /** Files that were read before and had to be read again. */
  readonly readAgain: readonly { readonly path: string; readonly index: number }[];
}

/** What a policy would leave, for a table. */
export interface PolicyResult extends PolicyInfo {
  readonly tokens: number;
  /** Compared with what is sent now: negative is smaller. */
  readonly changeTokens: number;
  /** What the next requests cost then, compared with changing nothing. */
  readonly cache: CacheCost;
}

/** Of the names and lines that were used next, at a few places of the session, how many a policy would have kept there. */
export interface KeptByPolicy {
  readonly policy: PolicyId;
  readonly keptCount: number;
  readonly neededCount: number;
}

/** An item that contains the search text. */
export interface SearchMatch {
  /** Of its message. */
  readonly index: number;
  readonly key: string;
}

/** A session with what was measured of it. */
export interface Inspection {
  readonly session: InspectedSession;
  /** In the order of the menu. */
  readonly policies: readonly PolicyInfo[];
  /** The budget that all policies and a child share: tokens of the whole window. */
  readonly budget: PolicyBudget;
  inspectWindow(options: WindowOptions): WindowView;
  /** The window at every request. */
  windowOverTime(): WindowOverTime;
  /** What each compaction of the session lost. */
  lostContent(): readonly LostContent[];
  /** What every policy would leave at that moment, all with the same budget. */
  comparePolicies(options: Pick<WindowOptions, "upTo" | "budgetTokens">): readonly PolicyResult[];
  /** What every policy would have kept of what was used next; nothing where the session is too short to tell. */
  keptByPolicies(options: Pick<WindowOptions, "budgetTokens">): readonly KeptByPolicy[];
  /** Undefined when there is no such item. */
  itemText(options: WindowOptions, place: ItemPlace): ItemText | undefined;
  previewForks(options: ForkPreviewOptions): ForkPreviews;
  previewCompaction(options?: CompactionPreviewOptions): CompactionPreview;
  /** Items that contain the text, ignoring case; oldest first. */
  search(query: string): readonly SearchMatch[];
  /** The same session after a change; what was measured is kept. */
  extend(session: InspectedSession): Inspection;
}
