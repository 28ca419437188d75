import { createHash } from "node:crypto";
import type { UnknownObject } from "../../../src/text/unknown-value.ts";
import type { InputTransformation } from "../bound-thinking/bound-thinking.ts";
import type { Answer, WireError } from "./step.ts";

/** One provider protocol, as the scripted model speaks it. */
export interface Wire {
  readonly name: "openai-chat" | "openai-responses" | "anthropic" | "gemini";
  /** What a request for this path asks of this wire; undefined for a path of another one. */
  route(path: string, body: Readonly<Record<string, unknown>>): WireRoute | undefined;
  /** Server-sent events of a whole answer, in order; the last ones end the stream. */
  events(answer: Answer, context: AnswerContext): readonly WireEvent[];
  /** Server-sent events of an answer that breaks off in the middle of its text. */
  openingEvents(text: string, context: AnswerContext): readonly WireEvent[];
  /** Server-sent events of an answer that breaks off with an error, although the status was 200. */
  errorEvents(error: WireError, context: AnswerContext): readonly WireEvent[];
  /** The same answer for a client that did not ask for a stream. */
  body(answer: Answer, context: AnswerContext): unknown;
}

export interface WireRoute {
  readonly model: string;
  readonly streamed: boolean;
}

/** The route of a wire with one path, which says everything else in the body. */
export function routeOf(wirePath: string): Wire["route"] {
  return (path, { model, stream }) =>
    path === wirePath ? { model: String(model), streamed: stream === true } : undefined;
}

/** What only the scripted model can have written: its seal on a text, which says when either was changed. */
export function sealOf(...content: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("base64").slice(0, 32);
}

export interface WireEvent {
  /** Set where the protocol names its events. */
  readonly event?: string;
  /** An object is sent as JSON, a string as it is. */
  readonly data: unknown;
}

/** One server-sent event as it goes over the wire. */
export function eventText({ event, data }: WireEvent): string {
  const payload = typeof data === "string" ? data : JSON.stringify(data);
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${payload}\n\n`;
}

export interface AnswerContext {
  /** Counts the requests of one server from 1; makes ids fresh and repeatable. */
  readonly number: number;
  readonly model: string;
  readonly atMs: number;
  /** For the estimated usage of an answer that states none. */
  readonly requestChars: number;
  /** Binds the thoughts of an answer to what was asked; unset: they are bound to nothing. */
  readonly sign?: <Block extends UnknownObject>(content: readonly Block[]) => readonly Block[];
  /** What became of the thoughts that were sent, where the client wants to know. */
  readonly inputTransformations?: readonly InputTransformation[];
}

/** Tokens of an answer: as scripted, else about four characters a token. */
export function usageOf(answer: Answer, context: AnswerContext): UsageCounts {
  const answerChars =
    (answer.text ?? "").length +
    (answer.reasoning ?? "").length +
    JSON.stringify([answer.calls ?? [], answer.searches ?? []]).length;
  return {
    inputTokens: answer.usage?.inputTokens ?? Math.ceil(context.requestChars / 4),
    outputTokens: answer.usage?.outputTokens ?? Math.ceil(answerChars / 4),
    cachedTokens: answer.usage?.cachedTokens ?? 0,
    reasoningTokens: answer.usage?.reasoningTokens ?? 0,
  };
}

export interface UsageCounts {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
}

/** The call's own id, or one made from the request number and the place of the call. */
export function callIdOf(callIndex: number, id: string | undefined, context: AnswerContext): string {
  return id ?? `call_${context.number}_${callIndex}`;
}

/** Which of a coding agent's callers a request comes from. */
export type Lane = "main" | "title" | "summary";

/** Tells the lanes apart by the prompts of OpenCode's hidden agents, of both versions; everything else is `main`. */
export function laneOf(rawBody: string): Lane {
  if (rawBody.includes("You are a title generator")) return "title";
  return SUMMARY_PROMPTS.some((prompt) => rawBody.includes(prompt)) ? "summary" : "main";
}

const SUMMARY_PROMPTS = [
  "You are a context summarization agent",
  "Create a new anchored summary from the conversation history.",
  "Update the anchored summary below using the conversation history above.",
];
