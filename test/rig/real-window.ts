import fc from "fast-check";
import type { Session } from "../../src/session/session.ts";
import { outcomeText } from "../../src/transcript/content.ts";
import type { Message, Transcript, Usage } from "../../src/transcript/message.ts";

/** A provider with a window of its own, which refuses nothing but what is longer than that. */
export interface RealWindow {
  readonly windowTokens: number;
  /** Who it is, for wordings that only one provider uses. */
  readonly name?: string;
  /** What it counts for system prompt and tools. */
  readonly overheadTokens?: number;
  /** How it counts: characters for a token. */
  readonly charsPerToken?: number;
  /** The error for a request of so many tokens. */
  readonly refuse: (sentTokens: number) => unknown;
  /** Whether its answers say what it counted. */
  readonly usage?: "reported" | "none";
}

export interface Played {
  readonly answered: number;
  readonly refusals: number;
  /** What the session said when it gave up; undefined when it never did. */
  readonly gaveUp?: string;
  /** The size of the first request that was refused. */
  readonly firstRefusedTokens?: number;
}

/** Plays turns through a session against a provider, as a caller of the model does: prepare, send, hand errors back. */
export async function playAgainst(
  session: Session,
  turns: readonly Turn[],
  provider: RealWindow,
): Promise<Played> {
  const { windowTokens, overheadTokens = 0, charsPerToken = 4, usage = "none" } = provider;
  let [answered, refusals] = [0, 0];
  let firstRefusedTokens: number | undefined;
  for (const [number, turn] of turns.entries()) {
    session.append(userMessage(`u${number}`, turn.request));
    for (;;) {
      const action = await session.prepare({ moment: "after-turn" });
      if (action.type === "give-up")
        return { answered, refusals, gaveUp: `${action.reason}: ${action.message}` };
      const sentTokens = overheadTokens + countTokens(session.messages(), charsPerToken);
      if (sentTokens > windowTokens) {
        refusals++;
        firstRefusedTokens ??= sentTokens;
        const { name } = provider;
        const { recovery } = session.onProviderError(
          provider.refuse(sentTokens),
          name === undefined ? {} : { provider: name },
        );
        if (recovery === "none") return { answered, refusals, gaveUp: "the refusal was not understood" };
        continue;
      }
      answered++;
      const counted = usage === "reported" ? { usage: usageOf(sentTokens, turn.answer, charsPerToken) } : {};
      session.append({ ...answerMessage(`a${number}`, turn), ...counted });
      break;
    }
  }
  return { answered, refusals, ...(firstRefusedTokens !== undefined && { firstRefusedTokens }) };
}

/** What is asked, and what the model answers; `output` is of a tool that it calls first. */
export interface Turn {
  readonly request: string;
  readonly answer: string;
  readonly output?: string;
}

/** The tokens of what is sent, by nothing but its characters. */
export function countTokens(messages: Transcript, charsPerToken: number): number {
  let chars = 0;
  for (const { parts } of messages) {
    for (const part of parts) {
      if (part.type === "text" || part.type === "reasoning") chars += part.text.length;
      if (part.type === "tool") chars += outcomeText(part.outcome).length + 20;
    }
  }
  return Math.ceil(chars / charsPerToken);
}

function usageOf(inputTokens: number, answer: string, charsPerToken: number): Usage {
  const outputTokens = Math.ceil(answer.length / charsPerToken);
  return { inputTokens, outputTokens, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
}

function userMessage(id: string, text: string): Message {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

function answerMessage(id: string, { answer, output }: Turn): Message {
  return {
    id,
    role: "assistant",
    finish: "stop",
    parts: [
      ...(output === undefined
        ? []
        : [
            {
              type: "tool" as const,
              callId: `${id}-call`,
              tool: "bash",
              input: { command: id },
              outcome: { status: "done" as const, output, attachments: [] },
            },
          ]),
      { type: "text", text: answer },
    ],
  };
}

const WORDS = "the parser reads one line and keeps what it needs for later steps of this work".split(" ");

/** Text of about this many tokens at four characters each, different for every seed. */
export function prose(tokens: number, seed = 0): string {
  const chars = Math.max(1, tokens) * 4;
  const words: string[] = [];
  for (let length = 0, index = seed; length < chars; index = (index * 31 + 7) % 9_973) {
    const word = WORDS[index % WORDS.length] ?? "";
    words.push(word);
    length += word.length + 1;
  }
  return words.join(" ").slice(0, chars);
}

/** From 1,000 to 2,000,000, as many small ones as large ones. */
export const anyWindow: fc.Arbitrary<number> = fc
  .double({ min: 3, max: Math.log10(2_000_000), noNaN: true })
  .map((power) => Math.round(10 ** power));
/** What system prompt and tools take of a window. */
export const anyOverheadShare: fc.Arbitrary<number> = fc.double({ min: 0, max: 0.95, noNaN: true });
/** Turns, each by the share of what is free that it takes. */
export const anyTurns: fc.Arbitrary<readonly { readonly share: number; readonly seed: number }[]> = fc.array(
  fc.record({ share: fc.double({ min: 0.01, max: 0.3, noNaN: true }), seed: fc.nat(9_000) }),
  { minLength: 4, maxLength: 10 },
);
export const anyProfile: fc.Arbitrary<"default" | "documented"> = fc.constantFrom(
  "default" as const,
  "documented" as const,
);
