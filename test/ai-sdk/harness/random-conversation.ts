import type { LanguageModelV3Message } from "@ai-sdk/provider";
import fc from "fast-check";
import { toolText } from "./tool-texts.ts";

/** A conversation as an application holds it, in a window that is too small for it. */
export interface Conversation {
  readonly windowTokens: number;
  readonly representation: "pivot" | "user-summary";
  readonly prune: { readonly how: "lines" | "clear" } | "off";
  readonly isThinking: boolean;
  readonly turns: readonly Turn[];
}

interface Turn {
  readonly question: string;
  readonly hasImage: boolean;
  readonly steps: readonly Step[];
  readonly answer: string;
}

interface Step {
  readonly text: string;
  readonly calls: readonly Call[];
  /** A search that the provider itself runs. */
  readonly isSearched: boolean;
}

interface Call {
  readonly tool: "read" | "edit" | "bash";
  readonly file: number;
  readonly chars: number;
  readonly isFailed: boolean;
}

const words = fc.lorem({ maxCount: 12 });

const call: fc.Arbitrary<Call> = fc.record({
  tool: fc.constantFrom("read", "read", "edit", "bash"),
  // Few files, so that a later call supersedes an earlier one.
  file: fc.nat(3),
  chars: fc.oneof(fc.nat(200), fc.integer({ min: 500, max: 6_000 })),
  isFailed: fc.nat(9).map((number) => number === 9),
});

const step: fc.Arbitrary<Step> = fc.record({
  text: fc.oneof(fc.constant(""), words),
  calls: fc.array(call, { minLength: 1, maxLength: 3 }),
  isSearched: fc.constant(false),
});

function turnsUpTo(maxLength: number): fc.Arbitrary<readonly Turn[]> {
  const turn = fc.record({
    question: words,
    hasImage: fc.nat(9).map((number) => number === 9),
    steps: fc.array(step, { maxLength: 4 }),
    answer: words,
  });
  return fc.array(turn, { minLength: Math.ceil(maxLength / 2), maxLength, size: "max" });
}

/** Up to 25 turns, most of the time few, with up to four steps each; reads and edits of the same files, images, thinking, failures. */
export const anyConversation: fc.Arbitrary<Conversation> = fc.record({
  windowTokens: fc.constantFrom(2_000, 4_000, 12_000),
  representation: fc.constantFrom("pivot", "user-summary"),
  prune: fc.constantFrom({ how: "lines" } as const, { how: "clear" } as const, "off" as const),
  isThinking: fc.boolean(),
  turns: fc.oneof(
    { weight: 90, arbitrary: turnsUpTo(4) },
    { weight: 9, arbitrary: turnsUpTo(10) },
    { weight: 1, arbitrary: turnsUpTo(25) },
  ),
});

/** The messages of each request that the application makes, one after the other. */
export function* requestsOf({
  turns,
  isThinking,
}: Conversation): Generator<readonly LanguageModelV3Message[]> {
  const messages: LanguageModelV3Message[] = [];
  let calls = 0;
  for (const { question, hasImage, steps, answer } of turns) {
    messages.push({
      role: "user",
      content: [{ type: "text", text: question }, ...(hasImage ? [IMAGE] : [])],
    });
    yield messages;
    for (const { text, calls: made } of steps) {
      const ids = made.map(() => `call_${++calls}`);
      messages.push({
        role: "assistant",
        content: [
          ...(isThinking ? [thought(calls)] : []),
          ...(text === "" ? [] : [{ type: "text" as const, text }]),
          ...made.map(({ tool, file }, index) => ({
            type: "tool-call" as const,
            toolCallId: ids[index] ?? "",
            toolName: tool,
            input: { filePath: `src/${file}.ts` },
            ...(isThinking &&
              index === 0 && { providerOptions: { google: { thoughtSignature: `c2ln${calls}` } } }),
          })),
        ],
      });
      messages.push({
        role: "tool",
        content: made.map(({ tool, chars, isFailed }, index) => ({
          type: "tool-result" as const,
          toolCallId: ids[index] ?? "",
          toolName: tool,
          output: {
            type: isFailed ? ("error-text" as const) : ("text" as const),
            value: toolText(calls + index, chars) || "ok",
          },
        })),
      });
      yield messages;
    }
    messages.push({
      role: "assistant",
      content: [...(isThinking ? [thought(++calls)] : []), { type: "text", text: answer }],
    });
  }
}

const IMAGE = { type: "file", data: "iVBORw0KGgo=", mediaType: "image/png" } as const;

function thought(count: number) {
  return {
    type: "reasoning",
    text: `Thought ${count}.`,
    providerOptions: {
      anthropic: { signature: `c2lnbmVk${count}` },
      openai: { itemId: `rs_${count}`, reasoningEncryptedContent: "c2VhbGVk" },
    },
  } as const;
}
