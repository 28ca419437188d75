import type { Transcript } from "../transcript/message.ts";
import type { EvalPolicy } from "./eval-policy.ts";
import { plainMessages } from "./plain-text.ts";

/** How long one call of a policy took on one history. */
export interface SpeedSample {
  readonly policy: string;
  readonly budgetChars: number;
  readonly historyChars: number;
  readonly milliseconds: number;
  /** As a multiple of writing the whole history as plain text, measured in turns on messages that neither has seen. */
  readonly timesPlain: number;
}

export interface SpeedOptions {
  readonly policies: readonly EvalPolicy[];
  readonly budgetsChars: readonly number[];
  /** The time in milliseconds; only differences count. */
  readonly now: () => number;
}

/** Times every policy on a history, best of a few turns. */
export function measureSpeed(history: Transcript, options: SpeedOptions): readonly SpeedSample[] {
  const plain = (messages: Transcript): number => plainMessages(messages).join("").length;
  const historyChars = plain(history);
  return options.budgetsChars.flatMap((budgetChars) =>
    options.policies.map(({ name, run }) => {
      const [milliseconds, plainMs] = inTurns(
        history,
        [(messages) => run(messages, budgetChars), plain],
        options.now,
      );
      const timesPlain = milliseconds / plainMs;
      return { policy: name, budgetChars, historyChars, milliseconds, timesPlain };
    }),
  );
}

const TURNS = 4;

type Run = (messages: Transcript) => unknown;

/** The best time of each of two, run in turns so that a busy machine slows both; the first turn only warms up. */
function inTurns(
  history: Transcript,
  runs: readonly [Run, Run],
  now: () => number,
): readonly [number, number] {
  const best: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let turn = 0; turn < TURNS; turn++) {
    for (const index of [0, 1] as const) {
      const messages = unseen(history);
      const startMs = now();
      runs[index](messages);
      if (turn > 0) best[index] = Math.min(best[index], now() - startMs);
    }
  }
  return best;
}

/** The same messages as new objects: what was remembered of a message, such as its input as JSON, is not there again. */
function unseen(history: Transcript): Transcript {
  return history.map((message) => ({ ...message, parts: message.parts.map((part) => ({ ...part })) }));
}
