import { CHARS_PER_TOKEN, estimateTokens, type TokenEstimator } from "../text/estimate-tokens.ts";
import { fenceQuote, oneLine } from "./summary-clean-text.ts";
import { cutCodePoints, firstCodePoints } from "./summary-cut-code-points.ts";
import type { Piece } from "./summary-pieces.ts";

/** What a mechanical summary is made of. */
export interface FoldMaterial {
  readonly previousSummary?: string;
  /** The last thing the assistant said in the folded messages. */
  readonly lastAnswer?: string;
  /** One line a tool result, the newest first. */
  readonly digest: readonly string[];
  readonly messages: number;
}

/** Reads the material out of the pieces that are folded. */
export function foldMaterial(
  pieces: readonly Piece[],
  { messages, previousSummary }: Pick<FoldMaterial, "messages" | "previousSummary">,
): FoldMaterial {
  const lastAnswer = pieces.findLast((piece) => piece.type === "assistant")?.text;
  const digest: string[] = [];
  for (let index = pieces.length - 1; index >= 0 && digest.length < MAX_DIGEST_LINES; index--) {
    const { type, tool = "", text } = pieces[index] as Piece;
    if (type === "output" || type === "error") digest.push(digestLine(tool, type, text));
  }
  return {
    messages,
    digest,
    ...(previousSummary !== undefined && { previousSummary }),
    ...(lastAnswer !== undefined && { lastAnswer: fenceQuote(lastAnswer) }),
  };
}

/** One line about a tool result: name, ok or error, its first 200 code points. */
export function digestLine(tool: string, type: "output" | "error", text: string): string {
  const start = firstCodePoints(text, DIGEST_POINTS * 2);
  const excerpt = firstCodePoints(oneLine(start, start.length), DIGEST_POINTS);
  return `- ${fenceQuote(tool)} ${type === "error" ? "error" : "ok"}: ${fenceQuote(excerpt) || "(empty output)"}`;
}

/**
 * A summary that no model had to write, in at most so many tokens: what was summed up before, the last answer,
 * one line a tool result. Requests and files stand in the facts beside it.
 */
export function foldSummary(material: FoldMaterial, { maxTokens, estimator }: FoldOptions): string {
  let maxChars = maxTokens * CHARS_PER_TOKEN;
  for (;;) {
    const text = foldWithin(material, maxChars);
    const tokens = estimateTokens(text, { ...(estimator && { estimator }), rounding: "ceil" });
    if (tokens <= maxTokens || maxChars < MIN_CHARS) return text;
    maxChars = Math.floor(maxChars * Math.min(0.9, maxTokens / tokens));
  }
}

export interface FoldOptions {
  readonly maxTokens: number;
  readonly estimator?: TokenEstimator;
}

const MIN_CHARS = 200;
const DIGEST_POINTS = 200;
const MAX_DIGEST_LINES = 200;

function foldWithin(
  { previousSummary, lastAnswer, digest, messages }: FoldMaterial,
  maxChars: number,
): string {
  const sections = [`${messages} earlier messages were folded mechanically.`];
  let leftChars = maxChars - (sections[0]?.length ?? 0);
  const add = (title: string, body: string): void => {
    if (body === "") return;
    sections.push(`## ${title}\n${body}`);
    leftChars -= title.length + body.length + 6;
  };
  const cut = (text: string | undefined, share: number): string =>
    text === undefined || leftChars < MIN_SECTION_CHARS
      ? ""
      : cutCodePoints(text, Math.floor(leftChars * share) - MARKER_CHARS);

  add("Summed up before", cut(previousSummary, 0.5));
  add("Last answer", cut(lastAnswer, 0.5));
  const lines: string[] = [];
  let digestChars = leftChars - 30;
  for (const line of digest) {
    digestChars -= line.length + 1;
    if (digestChars < 0) break;
    lines.push(line);
  }
  add("Tool results, the newest first", lines.join("\n"));
  return sections.join("\n\n");
}

const MIN_SECTION_CHARS = 120;
const MARKER_CHARS = 48;
