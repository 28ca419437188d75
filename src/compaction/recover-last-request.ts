import { truncate } from "../text/truncate.ts";
import { normalizeTypedText } from "../text/typed-text.ts";
import { applyEdits } from "../transcript/apply-edits.ts";
import type { Edit } from "../transcript/edit.ts";
import type { ContextEstimateOptions } from "../transcript/estimate-context-tokens.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { TextPart } from "../transcript/part.ts";
import { charsOf } from "../transcript/size.ts";
import { handleOf } from "../transcript/tool-results.ts";
import { isVisibleToModel, reachesModel } from "../transcript/visibility.ts";
import { createFreeIds } from "./free-ids.ts";
import { mediaLine } from "./recover-cut-parts.ts";
import { findLastRequest } from "./recover-request.ts";
import { estimateWire } from "./recover-wire.ts";

/**
 * Edits that leave the user's last request and a notice, the request cut until the upper bound of the estimate is
 * within the limit. Undefined only where not even the notice fits: the system prompt and the tools take it all.
 */
export function lastRequestOnly(
  transcript: Transcript,
  { limitTokens, estimate }: LastRequestOptions,
): readonly Edit[] | undefined {
  const request = transcript[findLastRequest(transcript)];
  const systems = transcript.filter((message) => message.role === "system" && isVisibleToModel(message));
  const hasRoomForSystem = estimateWire(systems, estimate).high <= limitTokens / 2;
  const kept = new Set(request === undefined ? [] : [request]);
  if (hasRoomForSystem) for (const message of systems) kept.add(message);
  const hidden = hideAllBut(transcript, kept);
  const notice = noticeFor(transcript, request, hidden.length);

  // Only what is kept is measured: the rest of a long transcript would be walked at every try.
  const fits = (keepChars: number): boolean => {
    const rest = [notice, ...kept];
    const cut = request === undefined ? rest : applyEdits(rest, shorten(request, keepChars), { at: 0 });
    return estimateWire(cut, estimate).high <= limitTokens;
  };
  const keepChars = fits(Number.POSITIVE_INFINITY)
    ? Number.POSITIVE_INFINITY
    : largestThat(fits, mostChars(request, limitTokens));
  if (keepChars === undefined) return undefined;
  const before = transcript[request === undefined ? transcript.length - 1 : transcript.indexOf(request) - 1];
  return [
    ...hidden,
    ...(request === undefined ? [] : shorten(request, keepChars)),
    {
      type: "insert-message",
      message: notice,
      after: before?.id ?? null,
      stage: STAGE,
      reason: "recovery",
    },
  ];
}

export interface LastRequestOptions {
  readonly limitTokens: number;
  readonly estimate?: ContextEstimateOptions;
}

/** The largest whole number up to `most` that passes, found by halving; undefined when 0 does not pass. */
export function largestThat(passes: (value: number) => boolean, most: number): number | undefined {
  if (passes(most)) return most;
  if (!passes(0)) return undefined;
  let good = 0;
  let bad = most;
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (passes(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

const STAGE = "recover-last-request";

/** No text has more characters in a token for long. */
export const MOST_CHARS_PER_TOKEN = 16;

function hideAllBut(transcript: Transcript, kept: ReadonlySet<Message>): readonly Edit[] {
  return transcript
    .filter((message) => isVisibleToModel(message) && !kept.has(message))
    .map((message) => ({
      type: "hide-message",
      messageId: message.id,
      stage: STAGE,
      reason: "recovery",
      omitted: { chars: charsOf(message), handle: message.id },
    }));
}

/** All text of the request becomes one part, so that a thousand small parts cannot be too much together. */
function shorten(request: Message, keepChars: number): readonly Edit[] {
  const whole = textOf(request);
  if (keepChars === Number.POSITIVE_INFINITY && request.parts.every(isPlainText)) return [];
  const { text, cut } = truncate(whole, { limitChars: keepChars, method: "head-tail" });
  const part: TextPart = { type: "text", text, ...(cut === undefined ? {} : { cut }) };
  const firstShown = request.parts.findIndex(reachesModel);
  return request.parts.flatMap((old, partIndex): Edit[] => {
    if (!reachesModel(old)) return [];
    const where = { messageId: request.id, partIndex, stage: STAGE, reason: "recovery" } as const;
    const handle = handleOf(request, partIndex);
    if (partIndex === firstShown)
      return [{ type: "replace-part", part, ...where, omitted: { chars: cut?.omittedChars ?? 0, handle } }];
    return [{ type: "hide-part", what: "part", ...where, omitted: { chars: 0, handle } }];
  });
}

function isPlainText(part: Message["parts"][number]): boolean {
  return !reachesModel(part) || part.type === "text";
}

function textOf({ parts }: Message): string {
  const pieces: string[] = [];
  for (const part of parts) {
    if (!reachesModel(part)) continue;
    if (part.type === "text") pieces.push(part.text);
    if (part.type === "file") pieces.push(mediaLine(part));
  }
  const text = pieces.join("\n");
  return normalizeTypedText(text).trim() === "" ? "(a message without text)" : text;
}

function mostChars(request: Message | undefined, limitTokens: number): number {
  return request === undefined ? 0 : Math.min(textOf(request).length, limitTokens * MOST_CHARS_PER_TOKEN);
}

function noticeFor(transcript: Transcript, request: Message | undefined, hiddenMessages: number): Message {
  return {
    id: createFreeIds(transcript)(`${request?.id ?? "carryover"}~notice`),
    role: "user",
    parts: [{ type: "text", text: noticeText(hiddenMessages), synthetic: true }],
    metadata: { kind: "hint", userVisible: false },
  };
}

function noticeText(hiddenMessages: number): string {
  const messages = hiddenMessages === 1 ? "1 message was" : `${hiddenMessages} messages were`;
  return `[The conversation did not fit the model's window: ${messages} left out and the request below may be shortened. Nothing is deleted; ask for what is missing.]`;
}
