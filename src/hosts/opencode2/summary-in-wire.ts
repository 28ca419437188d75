import type { Summarizer } from "../../compaction/ports/summarizer.ts";
import { asArray, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";

/** A request that is its own answer: nothing leaves the machine. */
export function answeredBy(wire: ProviderWire, { text, body, usage }: WireSummary): Request {
  const events = answerInWire(wire, { text, model: asString(body.model) ?? "", atMs: Date.now(), usage });
  return new Request(`data:text/event-stream;base64,${Buffer.from(events).toString("base64")}`);
}

interface WireSummary {
  readonly text: string;
  readonly body: UnknownObject;
  readonly usage: UnknownObject | undefined;
}

/** What a provider speaks, as far as a request for a summary can be answered in its place. */
export type ProviderWire = "openai-chat" | "openai-responses" | "anthropic";

/** The wire of a request that wants a stream, by its address and its body; undefined for any other. */
export function wireOf(url: string, body: unknown): ProviderWire | undefined {
  const { stream, messages, input, max_tokens } = asObject(body);
  const path = URL.canParse(url) ? new URL(url).pathname.replace(/\/+$/, "") : "";
  if (stream !== true) return undefined;
  if (path.endsWith("/chat/completions") && Array.isArray(messages)) return "openai-chat";
  if (path.endsWith("/responses") && Array.isArray(input)) return "openai-responses";
  if (path.endsWith("/messages") && Array.isArray(messages) && typeof max_tokens === "number")
    return "anthropic";
  return undefined;
}

/** A whole answer that says one text, as a stream of server-sent events in the provider's wire. */
export function answerInWire(wire: ProviderWire, answer: WireAnswer): string {
  return EVENTS[wire](answer)
    .map((data) => {
      const name = asString(data.type);
      return `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
    })
    .join("")
    .concat(wire === "openai-chat" ? "data: [DONE]\n\n" : "");
}

interface WireAnswer {
  readonly text: string;
  /** As the request names it. */
  readonly model: string;
  readonly atMs: number;
  /** As the provider reports it; nothing was used where it is unset. */
  readonly usage?: UnknownObject | undefined;
}

const EVENTS: Readonly<Record<ProviderWire, (answer: WireAnswer) => readonly UnknownObject[]>> = {
  "openai-chat": chatEvents,
  "openai-responses": responsesEvents,
  anthropic: anthropicEvents,
};

const ID = "carryover";

function chatEvents({ text, model, atMs, usage = NO_CHAT_TOKENS }: WireAnswer): readonly UnknownObject[] {
  const head = { id: ID, object: "chat.completion.chunk", created: Math.floor(atMs / 1000), model };
  return [
    {
      ...head,
      choices: [{ index: 0, delta: { role: "assistant", content: text }, finish_reason: null }],
    },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { ...head, choices: [], usage },
  ];
}

const NO_CHAT_TOKENS = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

const NO_TOKENS = { input_tokens: 0, output_tokens: 0 };

function responsesEvents(answer: WireAnswer): readonly UnknownObject[] {
  const { text, model, atMs, usage = { ...NO_TOKENS, total_tokens: 0 } } = answer;
  const response = { id: ID, object: "response", created_at: Math.floor(atMs / 1000), model };
  const open = {
    type: "message",
    id: `${ID}_message`,
    role: "assistant",
    status: "in_progress",
    content: [],
  };
  const content = [{ type: "output_text", text, annotations: [] }];
  const item = { ...open, status: "completed", content };
  const place = { output_index: 0 };
  const part = { item_id: item.id, ...place, content_index: 0 };
  return [
    { type: "response.created", response: { ...response, status: "in_progress" } },
    { type: "response.output_item.added", ...place, item: open },
    { type: "response.output_text.delta", ...part, delta: text },
    { type: "response.output_text.done", ...part, text },
    { type: "response.output_item.done", ...place, item },
    {
      type: "response.completed",
      response: { ...response, status: "completed", incomplete_details: null, output: [item], usage },
    },
  ].map((event, index) => ({ ...event, sequence_number: index }));
}

function anthropicEvents({ text, model, usage = NO_TOKENS }: WireAnswer): readonly UnknownObject[] {
  const message = { id: ID, type: "message", role: "assistant", model, content: [] };
  const ends = { stop_reason: null, stop_sequence: null };
  return [
    {
      type: "message_start",
      message: { ...message, ...ends, usage },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { ...ends, stop_reason: "end_turn" },
      usage,
    },
    { type: "message_stop" },
  ];
}

/** The body with a text behind what its newest message of the user says; undefined where there is no such text. */
export function withPromptText(
  wire: ProviderWire,
  body: UnknownObject,
  text: string,
): UnknownObject | undefined {
  const field = wire === "openai-responses" ? "input" : "messages";
  const list: readonly unknown[] = Array.isArray(body[field]) ? body[field] : [];
  const index = list.findLastIndex((message) => asObject(message).role === "user");
  const message = asObject(list[index]);
  const content = withContentText(message.content, text);
  return content === undefined ? undefined : { ...body, [field]: list.with(index, { ...message, content }) };
}

function withContentText(content: unknown, text: string): unknown {
  if (typeof content === "string") return `${content}\n\n${text}`;
  if (!Array.isArray(content)) return undefined;
  const index = content.findLastIndex((part) => typeof asObject(part).text === "string");
  if (index === -1) return undefined;
  const part = asObject(content[index]);
  return content.with(index, { ...part, text: `${part.text}\n\n${text}` });
}

/** Asks the model of a request something else, in its wire and with everything that the host set for it. */
export function summarizerInWire(wire: ProviderWire, { request, body }: WireRequest): WireSummarizer {
  let usage: UnknownObject | undefined;
  return {
    usage: () => usage,
    summarizer: {
      async summarize({ system, prompt, maxOutputTokens }, { signal, onProgress }) {
        const asked = questionInWire(wire, body, { system, prompt, maxOutputTokens });
        const response = await fetch(new Request(request, { body: JSON.stringify(asked), signal }));
        if (!response.ok) throw refusal(response.status, await response.text());
        const events = await readEvents(response, onProgress);
        const read = readAnswer(wire, events);
        usage = read.usage;
        return read.text;
      },
    },
  };
}

interface WireRequest {
  readonly request: Request;
  readonly body: UnknownObject;
}

interface WireSummarizer {
  readonly summarizer: Summarizer;
  /** What the last question used, as the provider reports it. */
  usage(): UnknownObject | undefined;
}

interface Question {
  readonly system: string;
  readonly prompt: string;
  readonly maxOutputTokens: number;
}

function questionInWire(wire: ProviderWire, body: UnknownObject, question: Question): UnknownObject {
  const { system, prompt, maxOutputTokens } = question;
  const user = { role: "user", content: prompt };
  switch (wire) {
    case "openai-chat":
      return { ...body, messages: [{ role: "system", content: system }, user] };
    case "openai-responses":
      return { ...body, instructions: system, input: [user] };
    case "anthropic":
      return { ...body, system, messages: [user], max_tokens: maxOutputTokens };
  }
}

/** Carries the status and the body, by which an overflow is told from other refusals. */
function refusal(status: number, body: string): Error {
  return Object.assign(new Error(`The provider answered ${status}: ${body.slice(0, MAX_BODY_CHARS)}`), {
    status,
  });
}

const MAX_BODY_CHARS = 4_000;

async function readEvents({ body }: Response, onProgress: () => void): Promise<readonly UnknownObject[]> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    onProgress();
    text += decoder.decode(chunk as Uint8Array, { stream: true });
  }
  const data = text
    .split(/\r?\n/)
    .flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trim()] : []));
  return data.filter((line) => line !== "" && line !== "[DONE]").map((line) => asObject(JSON.parse(line)));
}

interface ReadAnswer {
  readonly text: string;
  readonly usage: UnknownObject | undefined;
}

function readAnswer(wire: ProviderWire, events: readonly UnknownObject[]): ReadAnswer {
  const failed = events.find(({ error }) => error !== undefined && error !== null);
  if (failed !== undefined) throw failed.error;
  const texts = events.map((event) => textOfEvent(wire, event));
  const usages = events.flatMap((event) => {
    const { usage = asObject(event.response).usage ?? asObject(event.message).usage } = event;
    return usage === undefined || usage === null ? [] : [asObject(usage)];
  });
  // Anthropic counts the input at the beginning and the output at the end.
  return { text: texts.join(""), usage: usages.length === 0 ? undefined : Object.assign({}, ...usages) };
}

function textOfEvent(wire: ProviderWire, event: UnknownObject): string {
  switch (wire) {
    case "openai-chat":
      return asString(asObject(asObject(asArray(event.choices)[0]).delta).content) ?? "";
    case "openai-responses":
      return event.type === "response.output_text.delta" ? (asString(event.delta) ?? "") : "";
    case "anthropic":
      return event.type === "content_block_delta" ? (asString(asObject(event.delta).text) ?? "") : "";
  }
}
