import type { ModelMessage } from "ai";
import { callWithin } from "../../compaction/ports/call-within.ts";
import type { Clock } from "../../compaction/ports/summarizer.ts";
import { errorText } from "../../compaction/summary/text.ts";
import { readUsage } from "../../compaction/trigger/overflow.ts";
import { aiSdk } from "../../formats/wires/ai-sdk/ai-sdk.ts";
import type { AiSdkWire } from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { SessionAction } from "../../session/action.ts";
import type { WarningCode } from "../../session/events.ts";
import type { LedgerEntry } from "../../session/ledger.ts";
import type { Session } from "../../session/session.ts";
import type { StoredState } from "../../session/stored-state.ts";
import type { ProviderManagement } from "../../session/window.ts";
import { repairPairing } from "../../stages/repair.ts";
import { asObject, asString } from "../../text/unknown-value.ts";
import type { Edit } from "../../transcript/edit.ts";
import type { Fault } from "../../transcript/format.ts";
import type { Message, MessageId, Transcript } from "../../transcript/message.ts";

/** Joins a session and the messages that the AI SDK sends with every request. */
export interface Conversation {
  /** Takes in the messages of a request, does what is due, and gives the messages to send in their place. */
  prepare(wire: AiSdkWire, options: PrepareWireOptions): Promise<PreparedWire>;
  /** Records usage and finish of the answer to the last request: its messages come with the next request, without them. */
  recordAnswer(facts: AnswerFacts): void;
  /** Compacts these messages, or those of the last request, on request. */
  compact(wire: AiSdkWire | undefined, signal: AbortSignal | undefined): Promise<CompactedWire>;
  /** The messages of the last request as they are sent now. */
  currentWire(): AiSdkWire;
  /** The same with these edits alone. */
  wireWith(edits: readonly Edit[]): AiSdkWire;
}

interface CompactedWire extends PreparedWire {
  /** What became of the compaction; undefined when none was tried. */
  readonly entry: LedgerEntry | undefined;
  /** The estimate of what is sent now. */
  readonly tokens: number;
}

interface PrepareWireOptions {
  readonly signal?: AbortSignal;
  /** Characters of the tool definitions. */
  readonly toolsChars?: number;
  /** What the provider does about the window by itself. */
  readonly management?: ProviderManagement;
  /** Upkeep: what is given back is sent to nobody. @default request */
  readonly purpose?: "request" | "upkeep";
}

interface PreparedWire {
  readonly wire: AiSdkWire;
  /** What is left to do for the caller of the model. */
  readonly action: SessionAction;
}

interface ConversationOptions {
  readonly clock: Clock;
  /** A state from `session.toJSON()`. */
  readonly restore?: unknown;
  /** Called after each preparation, before the messages are sent. */
  readonly onPrepared: () => Promise<void>;
  readonly onWarning: (code: WarningCode, message: string) => void;
}

/** A conversation without messages. */
export function createConversation(session: Session, options: ConversationOptions): Conversation {
  const { clock, restore, onPrepared, onWarning } = options;
  const answers = new Map<MessageId, AnswerFacts>();
  let latest: AiSdkWire = [];
  let lastId: MessageId | undefined;
  let requestedAt: number | undefined;
  let isRestored = false;
  let queue: Promise<unknown> = Promise.resolve();

  async function take(wire: AiSdkWire): Promise<void> {
    const transcript = withAnswers(aiSdk.decode(wire), answers);
    latest = wire;
    lastId = transcript.at(-1)?.id;
    if (isRestored) return session.observe(transcript);
    isRestored = true;
    await session.restore(transcript, restore);
  }

  /** A provider's rules come first: edits that break one and cannot be repaired are not sent. */
  function currentWire(): AiSdkWire {
    const at = clock.now();
    const edited = aiSdk.apply(latest, session.edits(), { at });
    if (edited === latest || brokenRule(edited, latest) === undefined) return edited;
    const repairs = repairPairing(aiSdk.decode(edited), {
      lastMessage: endsWithAnswer(latest) ? "any" : "user",
    });
    const repaired = aiSdk.apply(edited, repairs, { at });
    const broken = brokenRule(repaired, latest);
    if (broken === undefined) return repaired;
    onWarning("request-not-edited", `the messages are sent as they came, since edited ${broken.text}`);
    return latest;
  }

  async function prepare(wire: AiSdkWire, options: PrepareWireOptions): Promise<PreparedWire> {
    const { signal, toolsChars, management, purpose = "request" } = options;
    if (management !== undefined) session.setManagement(management);
    await take(wire);
    if (toolsChars !== undefined) session.setOverhead({ toolsChars });
    const now = clock.now();
    const action = await session.prepare({
      // A new request means that the answer before it is complete.
      moment: "after-turn",
      ...(signal && { signal }),
      ...(requestedAt !== undefined && { idleMs: Math.max(0, now - requestedAt) }),
    });
    requestedAt = clock.now();
    await onPrepared();
    if (purpose === "request") session.sent();
    return { wire: currentWire(), action };
  }

  async function compact(wire: AiSdkWire = latest, signal: AbortSignal | undefined): Promise<CompactedWire> {
    if (wire.length > 0) await take(wire);
    const steps = session.ledger().length;
    const action = await session.prepare({ demand: "manual", ...(signal && { signal }) });
    await onPrepared();
    const entry = session
      .ledger()
      .slice(steps)
      .findLast(({ step }) => step === "compact");
    return { wire: currentWire(), action, entry, tokens: session.status().tokens };
  }

  /** One at a time: a session does one thing after another. */
  function enqueue<T>(work: () => Promise<T>): Promise<T> {
    const turn = queue.then(work);
    queue = turn.catch(() => undefined);
    return turn;
  }

  return {
    prepare: (wire, prepareOptions) => enqueue(() => prepare(wire, prepareOptions)),
    compact: (wire, signal) => enqueue(() => compact(wire, signal)),

    recordAnswer(facts) {
      if (lastId !== undefined) answers.set(lastId, facts);
    },

    currentWire,
    wireWith: (edits) => aiSdk.apply(latest, edits, { at: clock.now() }),
  };
}

/** A rule of the providers that some messages break, and that the messages before them did not. */
function brokenRule(edited: AiSdkWire, before: AiSdkWire): Fault | undefined {
  if (endsWithAnswer(edited) && !endsWithAnswer(before)) return ENDS_WITH_ANSWER;
  const faults = aiSdk.faults(edited);
  if (faults.length === 0) return undefined;
  const known = new Set(aiSdk.faults(before).map(({ rule }) => rule));
  return faults.find(({ rule }) => !known.has(rule));
}

/** Not every model takes a request in which it has the last word itself. */
function endsWithAnswer(wire: AiSdkWire): boolean {
  return wire.at(-1)?.role === "assistant";
}

const ENDS_WITH_ANSWER: Fault = {
  rule: "common-08",
  messageId: "",
  text: "the last message is an answer: end with a question or a result",
};

/** The messages with usage and finish of the answers among them, which are kept by the id of the message before. */
function withAnswers(transcript: Transcript, answers: ReadonlyMap<MessageId, AnswerFacts>): Transcript {
  if (answers.size === 0) return transcript;
  return transcript.map((message, index) => {
    const before = transcript[index - 1];
    const facts = message.role === "assistant" && before !== undefined ? answers.get(before.id) : undefined;
    return facts === undefined ? message : { ...message, ...facts };
  });
}

/** What the messages of the AI SDK do not say about an answer: its usage, and why it ended. */
export type AnswerFacts = Pick<Message, "usage" | "finish">;

/** How a request ended, as far as that is known before anything is shown to the caller. */
export type AttemptEnd =
  | { readonly type: "answer" }
  | { readonly type: "nothing"; readonly facts: AnswerFacts }
  | { readonly type: "error"; readonly error: unknown };

/** Usage and finish of an answer, as a message of a transcript has them: of a result, a step, or the last part of a stream. */
export function answerFacts(result: unknown): AnswerFacts {
  const { usage, finishReason } = asObject(result);
  const counted = readUsage(usage, { inputIncludesCached: "yes" });
  const { raw, unified } = asObject(finishReason);
  const finish = asString(finishReason) ?? asString(raw) ?? asString(unified);
  return {
    ...(counted !== undefined && { usage: counted }),
    ...(finish !== undefined && { finish }),
  };
}

/** True for an answer without text, reasoning or calls. */
export function isEmptyContent(content: unknown): boolean {
  return Array.isArray(content) && content.every((part) => isSilent(asObject(part)));
}

/** True for a part of an answer, whole or streamed, without content. */
export function isSilent({ type, text, delta, kind }: Readonly<Record<string, unknown>>): boolean {
  // A provider that only compacts answers with nothing else.
  if (type === "custom" && asString(kind)?.endsWith(".compaction")) return false;
  if (type === "text" || type === "reasoning") return text === "";
  if (type === "text-delta" || type === "reasoning-delta") return delta === "";
  return SILENT.has(type);
}

const SILENT: ReadonlySet<unknown> = new Set([
  "stream-start",
  "response-metadata",
  "text-start",
  "text-end",
  "reasoning-start",
  "reasoning-end",
  "raw",
  "custom",
  "finish",
]);

/** What to persist: either beside all messages, the state, or in place of all messages, those that are left. */
export interface CompactedConversation {
  readonly state: StoredState;
  readonly messages: readonly ModelMessage[];
  /** Of a conversation that `for` gave. */
  readonly id?: string;
}

/** Hands what to persist over to `onCompact`, which may throw or hang, until it has taken the newest. */
interface HandOver {
  /** The window was edited. */
  edited(): void;
  /** Resolves when it was handed over, or is not waited for. */
  now(): Promise<void>;
}

/** Nothing to hand over yet. */
export function createHandOver({ onCompact, changed, clock, onWarning }: HandOverPorts): HandOver {
  let newest = 0;
  /** What was taken last: one that is taken late may overwrite a newer one. */
  let taken = 0;
  let isTold = false;
  /** False from an answer that did not come in time until one does: so it holds up one request in all. */
  let isWaitedFor = true;

  function warn(why: string): void {
    if (!isTold) onWarning("not-persisted", `onCompact ${why}`);
    isTold = true;
  }

  return {
    edited() {
      newest++;
    },

    async now() {
      if (taken === newest || onCompact === undefined) return;
      const [given, number, startedAt] = [changed(), newest, clock.now()];
      let isAnswered = false;
      const answered = (): void => {
        isAnswered = true;
        if (clock.now() - startedAt <= LIMIT_MS) isWaitedFor = true;
      };
      const work = (async () => onCompact(given))().then(
        () => {
          answered();
          taken = number;
          isTold = false;
        },
        (error: unknown) => {
          answered();
          warn(`threw: ${errorText(error)}`);
        },
      );
      if (!isWaitedFor) return;
      await callWithin({ start: () => work, limitMs: LIMIT_MS, clock });
      isWaitedFor = isAnswered;
      if (!isAnswered) warn("did not end in time");
    },
  };
}

interface HandOverPorts {
  readonly onCompact: ((changed: CompactedConversation) => void | Promise<void>) | undefined;
  readonly changed: () => CompactedConversation;
  readonly clock: Clock;
  readonly onWarning: (code: WarningCode, message: string) => void;
}

/** How long one request waits for it. */
const LIMIT_MS = 2_000;

/** The messages as an application keeps them: without the system prompt. */
export function withoutSystem(wire: AiSdkWire): readonly ModelMessage[] {
  return wire.filter(({ role }) => role !== "system") as unknown as readonly ModelMessage[];
}
