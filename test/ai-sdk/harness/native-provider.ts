import { findAnthropicFaults } from "../../../src/formats/wires/anthropic/find-faults.ts";
import { findOpenAIResponsesFaults } from "../../../src/formats/wires/openai-responses/find-faults.ts";
import type { Fault } from "../../../src/transcript/format.ts";
import { createThinkingCheck, type Signatures } from "../../rig/bound-thinking/bound-thinking.ts";
import { countRequest } from "./count-request.ts";

type Json = Readonly<Record<string, unknown>>;

/** A provider that manages the window by itself, as its documents say, and refuses what breaks its rules. */
export interface NativeProvider {
  readonly fetch: typeof fetch;
  /** The bodies of all requests, oldest first. */
  readonly requests: readonly Json[];
  /** Requests of which this was said. */
  readonly refusals: readonly string[];
  /** The blocks that it made, oldest first. */
  readonly blocks: readonly string[];
  /** The tokens that each request had for the model, without what a block stands for. */
  readonly readTokens: readonly number[];
  readonly faults: readonly Fault[];
}

export interface NativeOptions {
  readonly windowTokens?: number;
  /** What is said next: a call of `read`, or words that end the loop. */
  /** Unset: bound, as of a new account; free, as of an old one; or no answer has any. Of Anthropic's interface. */
  readonly thinking?: "bound" | "free" | "none";
  readonly answer: (count: number) => { readonly path: string } | string;
  /** Refuses this request, counted from 0, as too long, whatever its size. */
  readonly refuses?: (count: number) => boolean;
}

/**
 * Anthropic's Messages API: a trigger below 50,000 tokens is refused, so is a block that it did not make, and any block
 * without its beta. Blocks before the newest compaction are not read. On demand it answers with a signed block alone.
 */
export function createNativeAnthropic(options: NativeOptions): NativeProvider {
  const state = createState(options);
  const { thinking = "bound" } = options;
  const check = createThinkingCheck({ account: thinking === "free" ? "old" : "new", signatures: SIGNATURES });
  return state.provider((body, headers) => {
    const betas = headers.get("anthropic-beta") ?? "";
    state.faults.push(...findAnthropicFaults(body));
    const seen = check.read(body, { beta: betas });
    if (seen.status === 400) return state.refuse(seen.error.error.message);
    const content = list(body.messages).flatMap(({ content }) => list(content));
    const sent = content.filter(({ type }) => type === "compaction");
    if (sent.length > 0 && !betas.includes("compact-")) return state.refuse("unknown block: compaction");
    if (sent.some((block) => !state.blocks.includes(String(block.content))))
      return state.refuse("a compaction block was changed");
    const messages = behindBlock(list(body.messages));
    const tokens = countRequest({ ...body, messages });
    state.readTokens.push(tokens);
    if (state.isTooLong(tokens)) return state.refuse(tooLong(tokens, options.windowTokens));
    if (body.compaction !== undefined) {
      if (!betas.includes("compact-2026-09-04")) return state.refuse("compaction needs its beta");
      const block = check.compact(seen, state.makeBlock());
      return anthropicAnswer([block], { tokens, stop: "compaction", compacted: tokens });
    }
    const edits = list(asJson(body.context_management).edits);
    const edit = edits.find(({ type }) => type === "compact_20260112");
    const trigger = Number(asJson(edit?.trigger).value ?? 150_000);
    if (edit !== undefined && trigger < 50_000) return state.refuse("the trigger must be at least 50000");
    const isCompacting = edit !== undefined && tokens >= trigger;
    const block = isCompacting ? [{ type: "compaction", content: state.makeBlock() }] : [];
    const isPaused = isCompacting && edit.pause_after_compaction === true;
    const all = isPaused ? [] : anthropicContent(state.next());
    const said = all.filter(({ type }) => type !== "thinking" || thinking !== "none");
    return anthropicAnswer(check.sign<Json>(seen, [...block, ...said]), {
      tokens: isCompacting ? 2_000 : tokens,
      stop: isPaused ? "compaction" : said.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn",
      ...(isCompacting && { compacted: tokens }),
      ...(edits.length > 0 && {
        applied: isCompacting ? [{ type: "compact_20260112" }] : clearedOf(edits),
      }),
    });
  });
}

/** Every server of the vendor reads what any of them has signed. */
const SIGNATURES: Signatures = new Map();

/**
 * OpenAI's Responses API: the compaction item is encrypted and must come back as it was; what stands before it is not
 * read.
 */
export function createNativeOpenAI(options: NativeOptions): NativeProvider {
  const state = createState(options);
  return state.provider((body) => {
    // What stands before an item is billed, not refused: it is the application's history.
    state.faults.push(
      ...findOpenAIResponsesFaults(body).filter(({ rule }) => rule !== "openai-responses-39"),
    );
    const input = list(body.input);
    const sent = input.filter(({ type }) => type === "compaction");
    if (sent.some(({ encrypted_content }) => !state.blocks.includes(String(encrypted_content))))
      return state.refuse("the encrypted content could not be verified");
    const tokens = countRequest({
      ...body,
      input: input.slice(input.findLastIndex(isItem("compaction")) + 1),
    });
    state.readTokens.push(tokens);
    if (state.isTooLong(tokens)) return state.refuse(tooLong(tokens, options.windowTokens));
    const isAsked = input.some(isItem("compaction_trigger"));
    const [entry] = list(body.context_management);
    const isCompacting = isAsked || (entry !== undefined && tokens >= Number(entry.compact_threshold));
    const id = state.blocks.length;
    const block = isCompacting
      ? [{ type: "compaction", id: `cmp_${id}`, encrypted_content: state.makeBlock() }]
      : [];
    const said = isAsked ? [] : openaiOutput(state.next());
    return openaiAnswer([...block, ...said], tokens);
  });
}

/** Any other provider: takes plain messages of the chat API, and says the same to everything. */
export function createPlainChat(options: NativeOptions): NativeProvider {
  const state = createState(options);
  return state.provider((body) => {
    const tokens = countRequest(body);
    state.readTokens.push(tokens);
    if (state.isTooLong(tokens)) return state.refuse(tooLong(tokens, options.windowTokens));
    const message = { role: "assistant", content: String(state.next()) };
    return Response.json({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage: { prompt_tokens: tokens, completion_tokens: 9, total_tokens: tokens + 9 },
    });
  }, streamedChat);
}

function streamedChat({ choices, ...head }: Json): Response {
  const [{ message, ...choice } = {}] = list(choices);
  const chunk = { ...head, object: "chat.completion.chunk", choices: [{ ...choice, delta: message }] };
  const text = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

function createState({ windowTokens = Number.POSITIVE_INFINITY, answer, refuses }: NativeOptions) {
  const requests: Json[] = [];
  const refusals: string[] = [];
  const blocks: string[] = [];
  const readTokens: number[] = [];
  const faults: Fault[] = [];
  let answers = 0;
  return {
    blocks,
    readTokens,
    faults,
    next: () => answer(answers++),
    isTooLong: (tokens: number) => tokens > windowTokens || refuses?.(requests.length - 1) === true,
    makeBlock(): string {
      const words = `Summary ${blocks.length + 1} of the provider: the files were read in order.`;
      blocks.push(words);
      return words;
    },
    refuse(message: string): Response {
      refusals.push(message);
      const error = { type: "invalid_request_error", message };
      return Response.json({ type: "error", error }, { status: 400 });
    },
    provider: (
      respond: (body: Json, headers: Headers) => Response,
      stream: (whole: Json) => Response = streamed,
    ): NativeProvider => ({
      requests,
      refusals,
      blocks,
      readTokens,
      faults,
      async fetch(_url, init) {
        const body = JSON.parse(String(init?.body)) as Json;
        requests.push(body);
        const response = respond(body, new Headers(init?.headers));
        return body.stream === true && response.ok ? stream((await response.json()) as Json) : response;
      },
    }),
  };
}

function tooLong(tokens: number, windowTokens = tokens - 1): string {
  return `prompt is too long: ${tokens} tokens > ${windowTokens} maximum`;
}

function behindBlock(messages: readonly Json[]): readonly Json[] {
  const index = messages.findLastIndex(({ content }) => list(content).some(isItem("compaction")));
  const message = messages[index];
  if (message === undefined) return messages;
  const content = list(message.content);
  return [
    { ...message, content: content.slice(content.findLastIndex(isItem("compaction"))) },
    ...messages.slice(index + 1),
  ];
}

let calls = 0;

function anthropicContent(said: { readonly path: string } | string): readonly Json[] {
  const thought = { type: "thinking", thinking: "" };
  if (typeof said === "string") return [thought, { type: "text", text: said }];
  return [
    thought,
    { type: "text", text: `Now ${said.path}.` },
    { type: "tool_use", id: `toolu_${++calls}`, name: "read", input: said },
  ];
}

function clearedOf(edits: readonly Json[]): readonly Json[] {
  return edits
    .filter(({ type }) => type === "clear_tool_uses_20250919")
    .map(({ type }) => ({ type, cleared_tool_uses: 3, cleared_input_tokens: 900 }));
}

function anthropicAnswer(
  content: readonly Json[],
  {
    tokens,
    stop,
    compacted,
    applied,
  }: { tokens: number; stop: string; compacted?: number; applied?: readonly Json[] },
): Response {
  const iterations = [
    ...(compacted === undefined ? [] : [{ type: "compaction", input_tokens: compacted, output_tokens: 300 }]),
    { type: "message", input_tokens: tokens, output_tokens: 60 },
  ];
  return Response.json({
    id: "msg",
    type: "message",
    role: "assistant",
    model: "claude-opus-5-5",
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage: { input_tokens: tokens, output_tokens: 60, ...(compacted !== undefined && { iterations }) },
    ...(applied !== undefined && { context_management: { applied_edits: applied } }),
  });
}

function openaiOutput(said: { readonly path: string } | string): readonly Json[] {
  if (typeof said !== "string") {
    const call = ++calls;
    return [
      {
        type: "function_call",
        id: `fc_${call}`,
        call_id: `call_${call}`,
        name: "read",
        arguments: JSON.stringify(said),
        status: "completed",
      },
    ];
  }
  const text = { type: "output_text", text: said, annotations: [] };
  return [{ type: "message", id: `msg_${++calls}`, role: "assistant", status: "completed", content: [text] }];
}

function openaiAnswer(output: readonly Json[], tokens: number): Response {
  return Response.json({
    id: "resp",
    object: "response",
    created_at: 1,
    model: "gpt-5",
    status: "completed",
    output,
    usage: {
      input_tokens: tokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 60,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: tokens + 60,
    },
  });
}

/** The events in which Anthropic streams a message. */
function streamed(message: Json): Response {
  const { content, stop_reason, usage, context_management, ...head } = message;
  const events: Json[] = [
    { type: "message_start", message: { ...head, content: [], stop_reason: null, usage } },
    ...list(content).flatMap((block, index) => blockEvents(block, index)),
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null },
      usage,
      ...(context_management !== undefined && { context_management }),
    },
    { type: "message_stop" },
  ];
  const text = events
    .map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

function blockEvents(block: Json, index: number): readonly Json[] {
  const events = (start: Json, delta: Json): readonly Json[] => [
    { type: "content_block_start", index, content_block: start },
    { type: "content_block_delta", index, delta },
    { type: "content_block_stop", index },
  ];
  if (block.type === "compaction")
    return events(
      { type: "compaction", content: null },
      { type: "compaction_delta", content: block.content },
    );
  if (block.type === "thinking")
    return events(
      { type: "thinking", thinking: "", signature: "" },
      { type: "signature_delta", signature: block.signature },
    );
  if (block.type === "text")
    return events({ type: "text", text: "" }, { type: "text_delta", text: block.text });
  const json = JSON.stringify(block.input);
  return events({ ...block, input: {} }, { type: "input_json_delta", partial_json: json });
}

const isItem =
  (wanted: string) =>
  ({ type }: Json): boolean =>
    type === wanted;

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function asJson(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}
