import { type ClientTool, tool } from "@langchain/core/tools";
import { Command, isGraphBubbleUp, ReducedValue, StateSchema } from "@langchain/langgraph";
import {
  type AgentMiddleware,
  AIMessage,
  type BaseMessage,
  createMiddleware,
  type ModelRequest,
  ToolMessage,
} from "langchain";
import { z } from "zod/v4";
import type { Summarizer } from "../../compaction/ports/summarizer.ts";
import { aiSdk } from "../../formats/wires/ai-sdk/ai-sdk.ts";
import { modelRef } from "../../middleware/language-model.ts";
import { type OpenOptions, openConversation } from "../../middleware/open-conversation.ts";
import { type ConversationOptions, findOptionProblems } from "../../middleware/options.ts";
import {
  answerRecall,
  RECALL_DESCRIPTION,
  RECALL_SCHEMA,
  readRecallInput,
} from "../../middleware/recall-tool.ts";
import { type SummarizerChoice, summarizerRule } from "../../middleware/summarizer.ts";
import { readSessionOptions } from "../../session/options.ts";
import { createOutputTrimming } from "../../session/output-limits.ts";
import type { Session } from "../../session/session.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import { gone, methods, objectOf, text, throwProblems } from "../../text/check.ts";
import { asArray, asObject, asString, omitUndefined, type UnknownObject } from "../../text/unknown-value.ts";
import type { OutputStore } from "../../tool-output/output-store.ts";
import {
  type AgentCall,
  adaptModel,
  type ChatModelLike,
  describePromptHead,
  modelLimits,
} from "./chat-model.ts";
import { createKeptThreads } from "./kept-threads.ts";
import { toWire, trimResult } from "./messages.ts";

/**
 * Keeps every thread of an agent within its model's window: for `middleware` of LangChain's `createAgent`. What it has
 * done is kept in the state of the thread, by the agent's checkpointer; the messages there stay as they are, but for
 * outputs too long for any window, which are cut as they come in, with their whole beside them.
 */
export function carryoverMiddleware(options: CarryoverMiddlewareOptions = {}): CarryoverMiddleware {
  throwProblems(findOptionProblems(options, MIDDLEWARE_SHAPE));
  const threads = createKeptThreads<Thread>();
  const { profile, toolOutput, perTool, prune, recallTool = "recall", store } = options;
  const trimOutput = createOutputTrimming(
    readSessionOptions(omitUndefined({ profile, toolOutput, perTool, prune }), {
      clock: createSystemClock(),
    }),
    store?.outputs && { store: store.outputs, recallTool },
  );

  async function wrapModelCall(request: ModelRequest, handler: AgentCall["handler"]): Promise<unknown> {
    const kept = asObject(request.state)[CHANNEL];
    const [thread, keep] = threads.of(kept, (restore) => openThread(options, request, restore));
    const response = await thread.send(request, handler);
    const state = keep();
    if (state === undefined) return response;
    return new Command({ update: { [CHANNEL]: state, ...structuredPart(response) } });
  }

  /** Made anew where it is not in memory, such as after a pause in another process. */
  async function sessionOf({ [CHANNEL]: kept, messages }: UnknownObject): Promise<Session> {
    const known = threads.known(kept);
    if (known !== undefined) return known.session;
    const { session } = openConversation(undefined, sessionOptions(options));
    await session.restore(aiSdk.decode(toWire(messages as BaseMessage[])), asObject(kept).session);
    return session;
  }

  const recall = tool(
    async (input: unknown, runtime: unknown) =>
      answerRecall(await sessionOf(asObject(asObject(runtime).state)), readRecallInput(input)),
    { name: recallTool, description: RECALL_DESCRIPTION, schema: RECALL_SCHEMA },
  );

  return createMiddleware({
    name: "carryover",
    // A middleware around this one may ask twice in one step: the newest counts. Sessions read it with care.
    stateSchema: new StateSchema({
      [CHANNEL]: new ReducedValue(z.any(), { reducer: (_, next: unknown) => next }),
    }) as never,
    tools: [recall as ClientTool],
    wrapModelCall: wrapModelCall as never,
    async wrapToolCall(request, handler) {
      try {
        const result = await handler(request);
        const { name } = request.toolCall;
        if (!ToolMessage.isInstance(result) || typeof result.content !== "string" || name === recallTool)
          return result;
        const trimmed = await trimOutput(name, result.content);
        if (trimmed === undefined) return result;
        return trimResult(result, trimmed.text, trimmed.handle === undefined ? "beside" : "stored");
      } catch (error) {
        throw isGraphBubbleUp(error) ? error : asToolError(error, request.toolCall);
      }
    },
  }) as unknown as CarryoverMiddleware;
}

/** What LangChain adds to the state beside the answer itself, where the answer is structured. */
function structuredPart(response: unknown): object {
  if (AIMessage.isInstance(response)) return {};
  const { structuredResponse, messages } = asObject(response);
  return { structuredResponse, messages: asArray(messages).slice(1) };
}

/** The middleware, as `createAgent` takes it. */
export type CarryoverMiddleware = AgentMiddleware<undefined, undefined, unknown, readonly ClientTool[]>;

/** How the threads of an agent are kept within its model's window; everything has a default. */
export interface CarryoverMiddlewareOptions extends ConversationOptions {
  /** The name of the tool that recalls. @default `recall` @when you have a tool of that name */
  readonly recallTool?: string;
  /**
   * Who writes summaries: another chat model, code of your own, or `{ model, system, instructions }` with what it is
   * told.
   * @default the agent's model
   * @from document 003
   * @when a cheaper model writes summaries
   */
  readonly summarizer?: ChatModelLike | Summarizer | MiddlewareSummarizer;
  /**
   * Where the whole of outputs that are too long is kept; without it, in the messages themselves.
   * @default none
   * @when checkpoints shall stay small: long outputs are then kept there
   */
  readonly store?: { readonly outputs?: OutputStore };
}

/** Who writes summaries, and what it is told. */
export interface MiddlewareSummarizer extends Pick<SummarizerChoice, "system" | "instructions"> {
  /** Another chat model, or code of your own. @default the agent's model */
  readonly model?: ChatModelLike | Summarizer;
}

/** The channel of the state in which a thread keeps what was done. The underscore keeps it out of inputs and outputs. */
const CHANNEL = "_carryover";

type Thread = ReturnType<typeof openThread>;

/** One thread of an agent, as its state was when it was last in memory. */
function openThread(options: CarryoverMiddlewareOptions, first: ModelRequest, restore: unknown) {
  const adapted = adaptModel(first.model);
  const id = asString(asObject(asObject(first.runtime).configurable).thread_id);
  const limits = modelLimits(first.model, options);
  const own = { ...sessionOptions(options), limits, restore };
  const { session, model } = openConversation(adapted, own, { id });
  let asked = adapted.modelId;

  /** An agent may ask another model with each request. */
  function use(next: unknown): void {
    adapted.use(next);
    if (adapted.modelId === asked) return;
    asked = adapted.modelId;
    session.useModel(modelRef(adapted), modelLimits(next, options));
  }

  return {
    session,
    /** Sends a request as the session wants it. */
    async send(request: ModelRequest, handler: AgentCall["handler"]): Promise<unknown> {
      use(request.model);
      const promptHead = { tools: describePromptHead(request), abortSignal: request.runtime.signal };
      const call = { ...omitUndefined(promptHead), prompt: toWire(request.messages), request, handler };
      return asObject(await model.doGenerate(call as AgentCall)).response;
    },
  };
}

/** The options as conversations of the AI SDK take them. */
function sessionOptions(given: CarryoverMiddlewareOptions): OpenOptions {
  const { summarizer, recallTool: _, ...options } = given;
  if (summarizer === undefined) return options;
  const isWriter = isChatModel(summarizer) || "summarize" in summarizer;
  const choice = asObject(isWriter ? { model: summarizer } : summarizer);
  const model = isChatModel(choice.model) ? adaptModel(choice.model) : choice.model;
  return { ...options, summarizer: omitUndefined({ ...choice, model }) as object };
}

const CHAT_MODEL = { ...methods("invoke", "stream"), expects: "a chat model of LangChain" };
const isChatModel = (value: unknown): boolean => CHAT_MODEL.find(value, []).length === 0;

/** What the middleware takes in another form than a session. */
const MIDDLEWARE_SHAPE = {
  recallTool: text,
  summarizer: summarizerRule(CHAT_MODEL),
  store: objectOf({ ...gone({ spills: "give outputs" }), outputs: methods("put", "get") }),
};

/**
 * An error of a tool as LangChain wants it from a middleware: in any other form it would end the run, where without a
 * middleware around the tool the model is told about it.
 */
function asToolError(error: unknown, toolCall: unknown): Error {
  const toolError = error instanceof Error ? error : new Error(String(error));
  if ("~brand" in toolError) return toolError;
  const explained = new Error(`${error}\n Please fix your mistakes.`, { cause: error });
  return Object.assign(explained, { "~brand": "ToolInvocationError", toolCall, toolError });
}
