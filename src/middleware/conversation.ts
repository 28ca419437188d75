import type { Clock } from "../compaction/ports/summarizer.ts";
import { aiSdk } from "../formats/wires/ai-sdk/ai-sdk.ts";
import type { AiSdkWire } from "../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { SessionAction } from "../session/action.ts";
import type { WarningCode } from "../session/events.ts";
import type { LedgerEntry } from "../session/ledger.ts";
import type { Session } from "../session/session.ts";
import type { ProviderManagement } from "../session/window.ts";
import { repairPairing } from "../stages/repair.ts";
import type { Edit } from "../transcript/edit.ts";
import type { Fault } from "../transcript/format.ts";
import type { MessageId, Transcript } from "../transcript/message.ts";
import type { AnswerFacts } from "./answer.ts";

/** A session, and the messages that every request brings whole. */
export interface Conversation {
  /** Gives the messages of a request to the session, lets it do what is due, and returns the messages to send. */
  prepare(wire: AiSdkWire, options: PrepareWireOptions): Promise<PreparedWire>;
  /** Records usage and finish of the answer to the last request. The answer itself comes with the next request, without them. */
  recordAnswer(facts: AnswerFacts): void;
  /** Compacts these messages, or those of the last request, on request. */
  compact(wire: AiSdkWire | undefined, signal: AbortSignal | undefined): Promise<CompactedWire>;
  /** The messages of the last request as they are sent now. */
  currentWire(): AiSdkWire;
  /** The messages of the last request with only these edits. */
  wireWith(edits: readonly Edit[]): AiSdkWire;
}

interface CompactedWire extends PreparedWire {
  /** What became of the compaction; undefined when none was tried. */
  readonly entry: LedgerEntry | undefined;
  /** The estimate of what is sent now. */
  readonly tokens: number;
}

interface PrepareWireOptions {
  readonly signal?: AbortSignal | undefined;
  /** Characters of the tool definitions. */
  readonly toolsChars?: number;
  /** What the provider does about the window by itself. */
  readonly management?: ProviderManagement;
  /** `upkeep`: the result is not sent to a model. @default request */
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

  /** Where edits break a rule of the providers and cannot be repaired, the messages are sent as they came. */
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

/** A rule of the providers that the edited messages break, and that the original messages did not. */
function brokenRule(edited: AiSdkWire, before: AiSdkWire): Fault | undefined {
  if (endsWithAnswer(edited) && !endsWithAnswer(before)) return ENDS_WITH_ANSWER;
  const faults = aiSdk.faults(edited);
  if (faults.length === 0) return undefined;
  const known = new Set(aiSdk.faults(before).map(({ rule }) => rule));
  return faults.find(({ rule }) => !known.has(rule));
}

/** Some models refuse a request that ends with an answer. */
function endsWithAnswer(wire: AiSdkWire): boolean {
  return wire.at(-1)?.role === "assistant";
}

const ENDS_WITH_ANSWER: Fault = {
  rule: "common-08",
  messageId: "",
  text: "the last message is an answer: end with a question or a result",
};

/** The messages with usage and finish of their answers. An answer has no id when it comes, so it is known by the message before it. */
function withAnswers(transcript: Transcript, answers: ReadonlyMap<MessageId, AnswerFacts>): Transcript {
  if (answers.size === 0) return transcript;
  return transcript.map((message, index) => {
    const before = transcript[index - 1];
    const facts = message.role === "assistant" && before !== undefined ? answers.get(before.id) : undefined;
    return facts === undefined ? message : { ...message, ...facts };
  });
}
