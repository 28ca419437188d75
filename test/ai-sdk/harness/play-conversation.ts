import { generateText, type ModelMessage, stepCountIs, streamText, type ToolSet, tool } from "ai";
import { z } from "zod";
import { type CarryoverOptions, carryover } from "../../../src/ai-sdk.ts";
import type { LanguageModelLike } from "../../../src/middleware/language-model.ts";
import { GiveUpError } from "../../../src/middleware/wrap-model.ts";
import { asArray, asObject } from "../../../src/text/unknown-value.ts";
import { findApiFaults, type RecordedApi } from "../../rig/ai-sdk-requests.ts";
import { type ModelServerOptions, startModelServer } from "../../rig/model-server/model-server.ts";
import type { Answer, Refusal, Reply } from "../../rig/model-server/step.ts";
import { createStrictRules } from "../../rig/model-server/strict/strict-rules.ts";
import { createWireFetch } from "../../rig/model-server/wire-fetch.ts";
import type { Call, Conversation, Turn } from "./random-conversation.ts";
import { type StrictModel, strictModel } from "./strict-models.ts";
import { toolText } from "./tool-texts.ts";

/** What became of a conversation. */
export interface Played {
  /** What the provider refused for its shape, what our own rules find in a request, answers in a row. */
  readonly problems: readonly string[];
  readonly turns: number;
  readonly requests: number;
  readonly summaries: number;
  readonly tooLong: number;
  readonly warnings: readonly string[];
}

export interface PlayOptions {
  readonly api: RecordedApi;
  /** Whether requests go over HTTP or to a function in place of `fetch`. */
  readonly over: "http" | "function";
  /** `none`: the model is used as it is, in a window without end. */
  readonly middleware?: "carryover" | "none";
}

/** Plays a conversation with the real AI SDK and a provider that enforces its rules; ends early where nothing can be made to fit. */
export async function playConversation(conversation: Conversation, options: PlayOptions): Promise<Played> {
  const { api, over, middleware = "carryover" } = options;
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
  const script = createScript(conversation);
  const provider = createProvider(conversation, { api, script, middleware });
  const server = over === "http" ? await startModelServer(provider.server) : undefined;
  const fetch = createWireFetch(provider.server);
  try {
    const made = strictModel(
      api,
      server === undefined ? { baseURL: "http://model.local/v1", fetch } : { baseURL: server.url },
      conversation,
    );
    const base = watchPrompts(made.model, provider.problems);
    const warnings: string[] = [];
    const wrapped = middleware === "none" ? undefined : carryover(base, optionsOf(conversation, warnings));
    const turns = await talk(conversation, { ...made, model: wrapped?.model ?? base }, script);
    const problems = [...provider.problems, ...(server ?? fetch).thinking.takeRefusals()];
    return { ...provider.report(), problems, turns, warnings };
  } finally {
    await server?.stop();
  }
}

function optionsOf({ windowTokens, prune }: Conversation, warnings: string[]): CarryoverOptions {
  return {
    limits: { contextTokens: windowTokens, outputTokens: 500 },
    ...(prune === "off" && { prune }),
    onEvent(event) {
      if (event.type === "warning") warnings.push(event.code);
    },
  };
}

/** Says the questions one after the other, and approves or denies what is to be approved. */
async function talk(
  { turns, isStreamed }: Conversation,
  { model, tools: ownTools, providerOptions }: StrictModel,
  script: Script,
): Promise<number> {
  const messages: ModelMessage[] = [];
  const tools = { ...TOOLS(script), ...ownTools };
  for (const [played, turn] of turns.entries()) {
    script.start(turn);
    messages.push(question(turn));
    for (let isOpen = true; isOpen; ) {
      const request = {
        model: model as never,
        tools,
        system: "You are a careful reader of code.",
        messages,
        stopWhen: stepCountIs(20),
        maxRetries: 0,
        providerOptions,
      };
      try {
        messages.push(...(await (isStreamed ? streamed(request) : generated(request))));
      } catch (error) {
        if (isExpected(error)) return played;
        throw error;
      }
      const approvals = openApprovals(messages, script);
      if (approvals !== undefined) messages.push(approvals);
      isOpen = approvals !== undefined;
    }
  }
  return turns.length;
}

async function generated(request: Parameters<typeof generateText>[0]): Promise<readonly ModelMessage[]> {
  return messagesOf(await generateText(request));
}

async function streamed(request: Parameters<typeof streamText>[0]): Promise<readonly ModelMessage[]> {
  let failure: unknown;
  const result = streamText({
    ...request,
    onError({ error }) {
      failure = error;
    },
  } as Parameters<typeof streamText>[0]);
  await result.consumeStream();
  if (failure !== undefined) throw failure;
  const responseMessages = await asObject(result).responseMessages;
  return messagesOf(Object.assign({ responseMessages }, { response: await result.response }));
}

/** What all steps of a turn added: `ai` 7 gives it a name of its own, its `response` is the last step's. */
function messagesOf(result: { response: { messages: readonly ModelMessage[] } }): readonly ModelMessage[] {
  const { responseMessages } = result as { readonly responseMessages?: readonly ModelMessage[] };
  return responseMessages ?? result.response.messages;
}

/** A refusal was noted where it was made; in a window that is too small for anything, giving up is right. */
function isExpected(error: unknown): boolean {
  return error instanceof GiveUpError || asObject(error).statusCode === 400;
}

function question({ question: text, file }: Turn): ModelMessage {
  const content = { type: "text", text } as const;
  if (file === "none") return { role: "user", content: [content] };
  const data =
    file === "image"
      ? ({ type: "file", data: PNG, mediaType: "image/png" } as const)
      : ({ type: "file", data: "JVBERi0xLjQK", mediaType: "application/pdf", filename: "plan.pdf" } as const);
  return { role: "user", content: [content, data] };
}

const PNG = "iVBORw0KGgo=";

/** The answers to the requests for approval in the newest answer. */
function openApprovals(messages: readonly ModelMessage[], script: Script): ModelMessage | undefined {
  const last = messages.findLast(({ role }) => role === "assistant");
  const asked = asArray(last?.content)
    .map(asObject)
    .filter(({ type }) => type === "tool-approval-request");
  if (asked.length === 0) return undefined;
  return {
    role: "tool",
    content: asked.map(({ approvalId, toolCallId }) => ({
      type: "tool-approval-response" as const,
      approvalId: String(approvalId),
      approved: script.callOf(String(toolCallId)).isApproved,
    })),
  };
}

const TOOLS = (script: Script): ToolSet => {
  const inputSchema = z.object({ filePath: z.string() });
  const execute = (_: unknown, { toolCallId }: { readonly toolCallId: string }): string => {
    const { chars, isFailed } = script.callOf(toolCallId);
    if (isFailed) throw new Error(`not found: ${toolText(chars, 80)}`);
    return toolText(chars + 1, chars) || "ok";
  };
  const plain = tool({ description: "Works on a file.", inputSchema, execute });
  return {
    read: plain,
    edit: plain,
    bash: plain,
    deploy: tool({ description: "Deploys a file.", inputSchema, execute, needsApproval: true }),
    screenshot: tool({
      description: "Shows a file.",
      inputSchema,
      execute,
      toModelOutput: ({ output }) => ({
        type: "content",
        value: [
          { type: "text", text: String(output) },
          { type: "image-data", data: PNG, mediaType: "image/png" },
        ],
      }),
    }),
  };
};

/** What the scripted model says next, and what the tools that it called do. */
interface Script {
  start(turn: Turn): void;
  next(): Answer;
  callOf(toolCallId: string): Call;
}

function createScript({ isThinking, callIds }: Conversation): Script {
  const calls = new Map<string, Call>();
  let said: (() => Answer)[] = [];
  let count = 0;
  const thought = () => (isThinking ? { reasoning: `Thought ${++count}.` } : {});
  return {
    start({ steps, answer }) {
      said = [
        ...steps.map((step) => () => ({
          type: "answer" as const,
          ...thought(),
          searches: step.searches.map((chars, index) => ({
            query: `what is ${index}`,
            found: chars === 0 ? "" : toolText(chars, chars),
          })),
          text: step.text,
          calls: step.calls.map((call, index) => {
            const id = callIds === "fresh" ? `call_${++count}` : `call_of_step_${index}`;
            calls.set(id, call);
            return { id, tool: call.tool, input: { filePath: `src/${call.file}.ts` } };
          }),
        })),
        () => ({ type: "answer", ...thought(), text: answer }),
      ];
    },
    next: () => said.shift()?.() ?? { type: "answer", text: "Nothing is left to do." },
    callOf(toolCallId) {
      const call = calls.get(toolCallId);
      if (call === undefined) throw new Error(`nobody called ${toolCallId}`);
      return call;
    },
  };
}

interface ProviderSubject {
  readonly api: RecordedApi;
  readonly script: Script;
  readonly middleware: "carryover" | "none";
}

/** The provider: refuses what breaks a rule, then what is too long, and else plays the script. */
function createProvider(
  { windowTokens, windowIs }: Conversation,
  { api, script, middleware }: ProviderSubject,
) {
  const rules = createStrictRules();
  const problems: string[] = [];
  const counts = { requests: 0, summaries: 0, tooLong: 0 };
  const judge: ModelServerOptions["judge"] = (request): Reply => {
    const { body, model, rawBody } = request;
    counts.requests++;
    for (const { rule, text, messageId } of findApiFaults(api, api === "gemini" ? { ...body, model } : body))
      problems.push(`${rule} ${messageId}: ${text}`);
    const refused = rules.refuse(request);
    if (refused !== undefined) {
      problems.push(messageOf(refused));
      return refused;
    }
    const inputTokens = Math.ceil(rawBody.length / 4);
    if (middleware !== "none" && windowIs === "enforced" && inputTokens > windowTokens) {
      counts.tooLong++;
      return tooLong(inputTokens, windowTokens);
    }
    const isSummary = body.tools === undefined;
    if (isSummary) counts.summaries++;
    const answer = isSummary ? SUMMARY : script.next();
    return { ...answer, usage: { inputTokens, outputTokens: 60 } };
  };
  return {
    problems,
    server: { judge, onAnswer: rules.remember } satisfies ModelServerOptions,
    report: () => ({ ...counts }),
  };
}

function messageOf({ body }: Refusal): string {
  return String(asObject(asObject(body).error).message);
}

const SUMMARY: Answer = {
  type: "answer",
  text: "## Goal\nFind the port.\n## Progress\nTwo files were read.\n## Next steps\nRead on.",
};

function tooLong(inputTokens: number, windowTokens: number): Refusal {
  const message = `prompt is too long: ${inputTokens} tokens > ${windowTokens} maximum`;
  const error = { message, type: "invalid_request_error", code: "context_length_exceeded" };
  return { type: "refusal", status: 400, body: { type: "error", error } };
}

/** Notes where two answers stand in a row in what a model is sent. */
function watchPrompts(model: LanguageModelLike, problems: string[]): LanguageModelLike {
  const note = (request: unknown): void => {
    const roles = asArray(asObject(request).prompt).map((message) => asObject(message).role);
    for (const [index, role] of roles.entries())
      if (role === "assistant" && roles[index - 1] === "assistant")
        problems.push(`two answers in a row at ${index}`);
  };
  return new Proxy(model, {
    get(target, key) {
      const value = Reflect.get(target, key);
      if (key !== "doGenerate" && key !== "doStream") return value;
      return (request: never) => {
        note(request);
        return (target[key] as (request: never) => unknown).call(target, request);
      };
    },
  });
}
