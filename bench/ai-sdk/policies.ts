import { generateText, type ModelMessage, pruneMessages } from "ai";
import { carryover } from "../../src/ai-sdk.ts";
import { countRequest } from "../../test/ai-sdk/harness/count-request.ts";
import type { ScriptedProvider } from "../../test/ai-sdk/harness/scripted-provider.ts";

type Model = ReturnType<ScriptedProvider["model"]>;

/** What is given to `generateText` for one loop. */
export interface PolicySetup {
  readonly model: Model;
  readonly tools?: ReturnType<typeof carryover>["tools"];
  readonly prepareStep?: (step: {
    readonly messages: readonly ModelMessage[];
  }) => Promise<{ messages: ModelMessage[] } | undefined>;
}

/** A way to keep a loop within its model's window. */
export interface Policy {
  readonly name: string;
  setup(model: Model, windowTokens: number): PolicySetup;
}

/** Carryover as it is, told how large the window is; nothing else is set. */
export const ownPolicy: Policy = {
  name: "Carryover",
  setup(base, windowTokens) {
    const limits = { contextTokens: windowTokens, outputTokens: OUTPUT_TOKENS };
    const { model, tools } = carryover(base, { limits });
    return { model, tools };
  },
};

const OUTPUT_TOKENS = 4_000;

/** What people do without us. All of them count exactly, and keep calls and results together. */
export const baselines: readonly Policy[] = [
  { name: "summary of everything", setup: (model, window) => summarize(model, window, 2) },
  { name: "summary, 20 messages stay", setup: (model, window) => summarize(model, window, 20) },
  {
    name: "pruneMessages, 10 messages",
    setup: (model) => ({
      model,
      prepareStep: async ({ messages }) => ({ messages: pruned(messages, "before-last-10-messages") }),
    }),
  },
  {
    name: "the newest 20 messages",
    setup: (model) => ({ model, prepareStep: async ({ messages }) => ({ messages: newest(messages, 20) }) }),
  },
  { name: "nothing", setup: (model) => ({ model }) },
];

/** The example of the documentation of `pruneMessages`: cheap, since every output is forgotten two messages later. */
export const forgetful: Policy = {
  name: "pruneMessages, 2 messages",
  setup: (model) => ({
    model,
    prepareStep: async ({ messages }) => ({ messages: pruned(messages, "before-last-2-messages") }),
  }),
};

function pruned(
  messages: readonly ModelMessage[],
  toolCalls: `before-last-${number}-messages`,
): ModelMessage[] {
  return pruneMessages({ messages: [...messages], toolCalls, emptyMessages: "remove" });
}

/** The task and the newest messages; a result without its call is left out. */
function newest(messages: readonly ModelMessage[], count: number): ModelMessage[] {
  const [task, ...rest] = messages;
  const tail = rest.slice(-count);
  while (tail[0]?.role === "tool") tail.shift();
  return task === undefined ? [] : [task, ...tail];
}

/** At eight tenths of the window the model is asked for a summary of all but the newest messages. */
function summarize(model: Model, windowTokens: number, keptMessages: number): PolicySetup {
  let summary: ModelMessage | undefined;
  let from = 1;
  const windowOf = (messages: readonly ModelMessage[]): ModelMessage[] => [
    ...messages.slice(0, 1),
    ...(summary === undefined ? [] : [summary]),
    ...messages.slice(from),
  ];
  return {
    model,
    async prepareStep({ messages }) {
      const tail = newest(messages, keptMessages).length - 1;
      const isDue = countRequest({ messages: windowOf(messages) }) >= SUMMARY_TRIGGER * windowTokens;
      if (!isDue || messages.length - tail <= from) return { messages: windowOf(messages) };
      const old = windowOf(messages).slice(0, -tail);
      const { text } = await generateText({
        model,
        maxRetries: 0,
        prompt: `${SUMMARY_PROMPT}\n\n${old.map((message) => JSON.stringify(message)).join("\n")}`,
      });
      summary = { role: "user", content: `Here is a summary of the conversation to date:\n\n${text}` };
      from = messages.length - tail;
      return { messages: windowOf(messages) };
    },
  };
}

const SUMMARY_TRIGGER = 0.8;
const SUMMARY_PROMPT =
  "Extract the most important context from the conversation below. It will be replaced by what you write, so leave out nothing that is needed to go on.";
