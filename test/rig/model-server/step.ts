import type { Lane } from "./wire.ts";

/** One scripted turn of the model: which request it waits for, and what it answers. */
export interface Step {
  /** Unset means `main`. */
  readonly lane?: Lane | "any";
  /** Only for requests of this session. */
  readonly sessionId?: string;
  /** Only for requests of a child session, or only for those of a top-level one. */
  readonly family?: "child" | "top-level";
  /** Only for requests whose raw body contains this text. */
  readonly contains?: string;
  /** Unset means once. */
  readonly times?: "once" | "always";
  readonly reply: Reply;
}

/** What the scripted model does with one request. */
export type Reply = Answer | Refusal | StreamError | Stall | Drop;

/** A streamed answer: reasoning, then searches of the provider's own, then text, then tool calls, then usage. */
export interface Answer {
  readonly type: "answer";
  readonly reasoning?: string;
  /** Left out on the wire of chat completions, which has none. */
  readonly searches?: readonly ScriptedSearch[];
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Unset means an estimate of what was sent and answered. */
  readonly usage?: ScriptedUsage;
  /** Unset means what the provider says after a call or after a text. */
  readonly finish?: string;
  /** How long the first byte waits. */
  readonly delayMs?: number;
  /** What the first byte waits for: on a busy machine nobody knows how long that takes. */
  readonly after?: Promise<unknown>;
  /** The text comes in pieces of a hundred characters, with this pause behind each event (Anthropic, Chat). */
  readonly paceMs?: number;
}

/** The text of an answer as it is streamed. */
export function textPieces({ text = "", paceMs }: Pick<Answer, "text" | "paceMs">): readonly string[] {
  if (paceMs === undefined) return text === "" ? [] : [text];
  return text.match(/.{1,100}/gsu) ?? [];
}

/** Something to wait for, and the function that makes it happen. */
export function createGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** An HTTP error in place of a stream. */
export interface Refusal {
  readonly type: "refusal";
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error that comes in the stream of a request that was accepted; an HTTP error where no stream was asked for. */
export interface StreamError {
  readonly type: "stream-error";
  readonly error: WireError;
}

/** What a provider says is wrong. */
export interface WireError {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
}

/** Opens the stream, sends the text, and then says nothing until the client gives up or the server stops. */
export interface Stall {
  readonly type: "stall";
  readonly text?: string;
}

/** Opens the stream, sends the text, and cuts the connection. */
export interface Drop {
  readonly type: "drop";
  readonly text?: string;
}

export interface ScriptedCall {
  readonly tool: string;
  /** Where a provider groups tools: the server that a tool comes from. */
  readonly namespace?: string;
  readonly input: unknown;
  /** Unset means a fresh one. */
  readonly id?: string;
}

/** A search that the provider itself ran, with what it found. */
export interface ScriptedSearch {
  readonly query: string;
  readonly found: string;
}

/** Tokens as the provider reports them; `inputTokens` includes the cached ones. */
export interface ScriptedUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens?: number;
  readonly reasoningTokens?: number;
}

/** What a step needs to know of a request to decide whether it is meant. */
export interface StepRequest {
  readonly lane: Lane;
  readonly sessionId?: string;
  readonly parentSessionId?: string;
  readonly rawBody: string;
}

/** Gives the first step that waits for this request and removes it from the queue, unless it stays for always. */
export function takeStep(queue: Step[], request: StepRequest): Step | undefined {
  const index = queue.findIndex((step) => matches(step, request));
  const step = queue[index];
  if (step !== undefined && step.times !== "always") queue.splice(index, 1);
  return step;
}

function matches(step: Step, request: StepRequest): boolean {
  const lane = step.lane ?? "main";
  if (lane !== "any" && lane !== request.lane) return false;
  if (step.sessionId !== undefined && step.sessionId !== request.sessionId) return false;
  if (step.family === "child" && request.parentSessionId === undefined) return false;
  if (step.family === "top-level" && request.parentSessionId !== undefined) return false;
  return step.contains === undefined || request.rawBody.includes(step.contains);
}

/** What the scripted model says when no step waits for the request. */
export const UNSCRIPTED_ANSWERS: Readonly<Record<Lane, Answer>> = {
  main: { type: "answer", text: "(nothing scripted)" },
  title: { type: "answer", text: "Scripted session" },
  summary: { type: "answer", text: "## Objective\n- (nothing scripted)" },
};

/** A step in which the model answers with a text. */
export function say(text: string, fields: StepFields = {}): Step {
  return answerStep({ text }, fields);
}

/** A step in which the model calls one tool. */
export function call(tool: string, input: unknown, fields: StepFields = {}): Step {
  return answerStep({ calls: [{ tool, input }] }, fields);
}

/** A step in which the model calls several tools at once. */
export function callAll(calls: readonly ScriptedCall[], fields: StepFields = {}): Step {
  return answerStep({ calls }, fields);
}

/** A step in which the provider refuses the request because it is too long. */
export function refuseLength(fields: Omit<Step, "reply"> = {}): Step {
  const message = "This model's maximum context length is 8000 tokens. Your messages came to 9001 tokens.";
  const error = { message, type: "invalid_request_error", code: "context_length_exceeded" };
  return { ...fields, reply: { type: "refusal", status: 400, body: { error } } };
}

/** A step in which the provider accepts the request and says in the stream that it is too long. */
export function refuseLengthInStream(fields: Omit<Step, "reply"> = {}): Step {
  const message = "prompt is too long: 9001 tokens > 8000 maximum";
  const error = { type: "invalid_request_error", code: "context_length_exceeded", message };
  return { ...fields, reply: { type: "stream-error", error } };
}

/** A step in which the provider refuses the request for good, for any other reason. */
export function refuse(message: string, fields: Omit<Step, "reply"> = {}): Step {
  const error = { message, type: "invalid_request_error" };
  return { ...fields, reply: { type: "refusal", status: 400, body: { error } } };
}

/** Everything else a step or its answer may say. */
export type StepFields = Omit<Step, "reply"> & Omit<Answer, "type">;

function answerStep(answer: Omit<Answer, "type">, fields: StepFields): Step {
  const { lane, sessionId, family, contains, times, ...rest } = fields;
  return {
    ...(lane === undefined ? {} : { lane }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(family === undefined ? {} : { family }),
    ...(contains === undefined ? {} : { contains }),
    ...(times === undefined ? {} : { times }),
    reply: { type: "answer", ...answer, ...rest },
  };
}
