import { createSession } from "../session/create-session.ts";
import type { SessionPruneOptions } from "../session/session-prune.ts";
import type { Message } from "../transcript/message.ts";
import { LOOP_PRICES, LOOP_SYSTEM_CHARS } from "./loop-prices.ts";
import { plainMessages } from "./plain-text.ts";

/** What the session itself would have sent at each step: the real engine, with the options under which a loop of an agent runs. */
export function sessionReplay(
  prune: SessionPruneOptions,
): (history: readonly Replayed[], idleMs: number) => Promise<readonly string[]> {
  let nowMs = 0;
  const session = createSession(
    { clock: { now: () => nowMs, sleep: () => new Promise(() => {}) } },
    {
      model: { provider: "anthropic", id: "claude-sonnet-4-5" },
      limits: { contextTokens: 200_000, outputTokens: 32_000 },
      cache: LOOP_PRICES,
      systemChars: LOOP_SYSTEM_CHARS,
      prune,
      // What is measured is pruning alone: outputs come in as they were recorded, and no model is asked.
      toolOutput: "off",
      compaction: { autoCompact: false, toolSummaryStrategy: "off" },
    },
  );
  return async (history, idleMs) => {
    nowMs += idleMs;
    session.observe(history.map(({ message }) => asIfNew(message)));
    await session.prepare({ moment: "after-turn", idleMs });
    return session.projection().map(textOf);
  };
}

/** A message of the recorded session. */
export interface Replayed {
  readonly message: Message;
}

/** Without what was counted and summed up in the window that was really sent, which is not this one. */
function asIfNew(message: Message): Message {
  let bare = bareMessages.get(message);
  if (bare === undefined) {
    const { usage: _, summary: __, metadata: ___, ...rest } = message;
    bare = rest;
    bareMessages.set(message, bare);
  }
  return bare;
}

/** Messages never change, so each is written once. */
function textOf(message: Message): string {
  let text = texts.get(message);
  if (text === undefined) {
    text = plainMessages([message]).join("");
    texts.set(message, text);
  }
  return text;
}

const bareMessages = new WeakMap<Message, Message>();
const texts = new WeakMap<Message, string>();
