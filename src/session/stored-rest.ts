import { RECOVERY_STEPS } from "../compaction/recover.ts";
import { deepEqual } from "../text/deep-equal.ts";
import { hashText } from "../text/hash-text.ts";
import { safeJson } from "../text/json.ts";
import { isObject, type UnknownObject } from "../text/unknown-value.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { readWindows } from "./learned-window.ts";
import type { ResolvedSessionOptions } from "./options.ts";
import type { RecoveryState } from "./recovery.ts";
import { initialState, type SessionState } from "./state.ts";
import type { SessionView } from "./view.ts";
import { isFinishedAnswer } from "./window.ts";

/** What is stored of a state beside its batches, thoughts and pending summaries: the fields that are not as in a new session. */
export interface StoredRest {
  /** The messages that the state has taken in, so that those behind them are new to it. */
  readonly seen?: SeenMessages;
  /** What the options said of model, limits and settings: where they say something else later, that counts. */
  readonly asked?: number;
  readonly fields: UnknownObject;
}

/** How many messages a state has taken in, and the last of them. */
export interface SeenMessages {
  readonly count: number;
  readonly lastId: MessageId;
  readonly hash: number;
  readonly isAnswer: boolean;
}

/** The rest of a state as plain data. */
export function restOf({ state, options }: SessionView): StoredRest {
  const initial = initialState(options);
  const fields: Record<string, unknown> = {};
  for (const name of STORED_FIELDS) if (!deepEqual(state[name], initial[name])) fields[name] = state[name];
  const { recovery } = state;
  if (recovery !== undefined) fields.recovery = { ...recovery, error: plainError(recovery.error) };
  return { ...seenOf(state.history.messages), asked: askedOf(options), fields };
}

function seenOf(messages: Transcript): { readonly seen?: SeenMessages } {
  const last = messages.at(-1);
  if (last === undefined) return {};
  const hash = hashText(safeJson(last));
  return { seen: { count: messages.length, lastId: last.id, hash, isAnswer: isFinishedAnswer(last) } };
}

/** Which of the owner's messages a stored state has taken in, as they are now. */
export function seenIn(messages: Transcript, rest: unknown): SeenPrefix {
  const { seen } = isObject(rest) ? rest : {};
  if (!isObject(seen) || typeof seen.count !== "number") return { messages: [], isSame: true };
  const { count, lastId, hash, isAnswer } = seen;
  const last = messages[count - 1];
  if (last === undefined || last.id !== lastId) return { messages, isSame: false };
  const isGrown = isAnswer !== true && hashText(safeJson(last)) !== hash;
  return { messages: messages.slice(0, count), isSame: true, ...(isGrown && { grown: last }) };
}

/** Messages that were taken in. */
export interface SeenPrefix {
  readonly messages: Transcript;
  /** The last of them, where more of it is there now. */
  readonly grown?: Message;
  /** False when the owner has other messages now. */
  readonly isSame: boolean;
}

/** The fields of a new session, with those that were stored in their place; what cannot be read stays as it is there. */
export function readRest(rest: unknown, options: ResolvedSessionOptions): SessionState {
  const initial = initialState(options);
  if (!isObject(rest) || !isObject(rest.fields)) return initial;
  const isAskedAnew = rest.asked !== askedOf(options);
  const read: Record<string, unknown> = {};
  for (const name of STORED_FIELDS) {
    const value = rest.fields[name];
    if (value === undefined || (isAskedAnew && ASKED_FIELDS.has(name))) continue;
    if (isUsable(name, value)) read[name] = value;
  }
  const { windows, recovery } = rest.fields;
  if (windows !== undefined) read.windows = readWindows(windows);
  if (isObject(recovery) && read.recovery !== undefined) read.recovery = readRecovery(recovery);
  return { ...initial, ...read };
}

/** What options say that a session may change while it runs. */
function askedOf({ model, limits, settings }: ResolvedSessionOptions): number {
  return hashText(safeJson([model, limits, settings]));
}

const ASKED_FIELDS: ReadonlySet<string> = new Set(["model", "limits", "settings"]);

const COUNT = (value: unknown): boolean => Number.isSafeInteger(value);
const FLAG = (value: unknown): boolean => typeof value === "boolean";
const TEXT = (value: unknown): boolean => typeof value === "string";
/** Numbers, texts, flags, and lists and objects of them. */
const PLAIN = (value: unknown): boolean =>
  typeof value === "string" ||
  typeof value === "boolean" ||
  Number.isFinite(value) ||
  (typeof value === "object" && value !== null && Object.values(value).every(PLAIN));
const OBJECT =
  (shape: Readonly<Record<string, (value: unknown) => boolean>>) =>
  (value: unknown): boolean =>
    isObject(value) && PLAIN(value) && Object.keys(shape).every((key) => shape[key]?.(value[key]) === true);
const MEASURE = OBJECT({
  epoch: COUNT,
  epochStart: COUNT,
  calibrations: (value) => Array.isArray(value) && value.every(CALIBRATION),
  distrusted: (value) => Array.isArray(value) && value.every(TEXT),
  scale: (value) => value === undefined || CALIBRATION(value),
});
const CALIBRATION = OBJECT({
  scale: (value) => typeof value === "number" && value > 0.01 && value < 100,
  spread: (value) => typeof value === "number" && value >= 0 && value < 100,
  observations: COUNT,
  epoch: COUNT,
  model: TEXT,
});
const NUMBERS = (value: unknown): boolean => isObject(value) && Object.values(value).every(Number.isFinite);

/** The fields that are stored, and what each has to be to be read again. */
const FIELD_RULES = {
  owner: (value) => value === "session" || value === "host",
  model: OBJECT({ provider: TEXT, id: TEXT }),
  limits: NUMBERS,
  settings: OBJECT({ maxMessages: COUNT, maxTokens: COUNT, keepRecentTokens: COUNT, autoCompact: FLAG }),
  management: (value) => isObject(value) && PLAIN(value),
  version: COUNT,
  turn: COUNT,
  arrivals: COUNT,
  batchCount: COUNT,
  measure: MEASURE,
  windows: Array.isArray,
  sentIn: COUNT,
  coolDownThroughTurn: COUNT,
  held: OBJECT({ reason: TEXT }),
  idle: OBJECT({ count: COUNT, tokens: Number.isFinite }),
  begun: OBJECT({ messages: COUNT, folded: COUNT, measure: MEASURE, windows: Array.isArray }),
  hookStrikes: NUMBERS,
  isJustCompacted: FLAG,
  dealtWith: TEXT,
  watermarks: (value) => isObject(value) && PLAIN(value),
  providerFailed: FLAG,
  recovery: (value) => isObject(value) && isObject(value.phase) && isObject(value.report),
  recoveryCompactions: COUNT,
  pausedThroughTurn: COUNT,
  undoneStep: TEXT,
  stages: OBJECT({ arrivals: COUNT, next: COUNT, hung: NUMBERS }),
  spent: NUMBERS,
} satisfies { readonly [Name in Exclude<keyof SessionState, StoredElsewhere>]: (value: unknown) => boolean };

/** Stored beside the rest, kept by the owner of the messages, or read by no decision. */
type StoredElsewhere = "history" | "thoughts" | "pending" | "beforeProviderBlock" | "ledger";

type StoredField = keyof typeof FIELD_RULES;
const STORED_FIELDS = Object.keys(FIELD_RULES) as readonly StoredField[];

function isUsable(name: StoredField, value: unknown): boolean {
  return FIELD_RULES[name](value);
}

/** An error as plain data: what a caller may look at in it. */
function plainError(error: unknown): unknown {
  if (!(error instanceof Error)) return jsonOf(error);
  const { name, message } = error;
  return { name, message, fields: jsonOf({ ...error }) };
}

function jsonOf(value: unknown): unknown {
  try {
    return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
  } catch {
    return undefined;
  }
}

/** A refused request as it was stored; the error is one again. */
function readRecovery(stored: UnknownObject): RecoveryState {
  const { error, limitTokens } = stored;
  const isError = isObject(error) && typeof error.message === "string" && typeof error.name === "string";
  const revived = isError
    ? Object.assign(new Error(String(error.message)), isObject(error.fields) ? error.fields : {}, {
        name: String(error.name),
      })
    : error;
  return {
    ...(stored as unknown as RecoveryState),
    error: revived,
    tried: RECOVERY_STEPS.filter((step) => Array.isArray(stored.tried) && stored.tried.includes(step)),
    // JSON has no Infinity.
    limitTokens: typeof limitTokens === "number" && limitTokens > 0 ? limitTokens : Number.POSITIVE_INFINITY,
  };
}
