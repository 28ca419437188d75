import type { Clock } from "../../compaction/clock.ts";
import { aiSdk } from "../../formats/ai-sdk/ai-sdk.ts";
import type { AiSdkWire } from "../../formats/ai-sdk/ai-sdk-message.ts";
import type { Session } from "../../session/create-session.ts";
import type { SessionAction } from "../../session/session-action.ts";
import type { MessageId, Transcript } from "../../transcript/message.ts";
import type { AnswerFacts } from "./answer-facts.ts";

/** Joins a session and the messages that the AI SDK sends with every request. */
export interface Conversation {
  /** Takes in the messages of a request, does what is due, and gives the messages to send in their place. */
  prepare(wire: AiSdkWire, options: PrepareWireOptions): Promise<PreparedWire>;
  /** Notes what came of the request whose messages were prepared last: the next one brings the answer itself. */
  answered(facts: AnswerFacts): void;
  /** The messages of the last request as they are sent now. */
  window(): AiSdkWire;
}

export interface PrepareWireOptions {
  readonly signal?: AbortSignal;
  /** Characters of the tool definitions. */
  readonly toolsChars?: number;
}

export interface PreparedWire {
  readonly wire: AiSdkWire;
  /** What is left to do for whoever calls the model. */
  readonly action: SessionAction;
}

export interface ConversationOptions {
  readonly clock: Clock;
  /** A state that was kept elsewhere. */
  readonly restore?: unknown;
  /** Called when requests were prepared and the window is another one than before. */
  readonly onPrepared: () => Promise<void>;
}

/** A conversation of which nothing is known yet. */
export function createConversation(session: Session, options: ConversationOptions): Conversation {
  const { clock, restore, onPrepared } = options;
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

  function window(): AiSdkWire {
    return aiSdk.apply(latest, session.edits(), { at: clock.now() });
  }

  async function prepare(wire: AiSdkWire, { signal, toolsChars }: PrepareWireOptions): Promise<PreparedWire> {
    await take(wire);
    if (toolsChars !== undefined) session.sendBeside({ toolsChars });
    const now = clock.now();
    const action = await session.prepare({
      // A request tells that the answer before it has come to an end.
      moment: "after-turn",
      ...(signal && { signal }),
      ...(requestedAt !== undefined && { idleMs: Math.max(0, now - requestedAt) }),
    });
    requestedAt = clock.now();
    await onPrepared();
    return { wire: window(), action };
  }

  return {
    prepare(wire, prepareOptions) {
      // One at a time: a session does one thing after another.
      const turn = queue.then(() => prepare(wire, prepareOptions));
      queue = turn.catch(() => undefined);
      return turn;
    },

    answered(facts) {
      if (lastId !== undefined) answers.set(lastId, facts);
    },

    window,
  };
}

/** The messages with what is known about the answers among them, each named by the message before it. */
function withAnswers(transcript: Transcript, answers: ReadonlyMap<MessageId, AnswerFacts>): Transcript {
  if (answers.size === 0) return transcript;
  return transcript.map((message, index) => {
    const before = transcript[index - 1];
    const facts = message.role === "assistant" && before !== undefined ? answers.get(before.id) : undefined;
    return facts === undefined ? message : { ...message, ...facts };
  });
}
