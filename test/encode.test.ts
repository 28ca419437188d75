import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aiSdk } from "../src/formats/wires/ai-sdk/ai-sdk.ts";
import { anthropic } from "../src/formats/wires/anthropic/anthropic.ts";
import { gemini } from "../src/formats/wires/gemini/gemini.ts";
import { openaiChat } from "../src/formats/wires/openai-chat/openai-chat.ts";
import { openaiResponses } from "../src/formats/wires/openai-responses/openai-responses.ts";
import { CONTINUE_REQUEST } from "../src/stages/repair.ts";
import { mapStrings } from "../src/text/map-strings.ts";
import { isMalformed, normalizeText, normalizeTypedText } from "../src/text/normalize.ts";
import { isObject } from "../src/text/unknown-value.ts";
import { filePlaceholder, outcomeText } from "../src/transcript/content.ts";
import type { Format } from "../src/transcript/format.ts";
import { type Message, normalizePartText, project, type Transcript } from "../src/transcript/message.ts";
import { COMPACTION_QUESTION, type Part, type ToolPart } from "../src/transcript/part.ts";
import { edited, editedRequest, randomMessagesToSend } from "./rig/random-history/random-messages-to-send.ts";
import { runs } from "./rig/runs.ts";

const MESSAGE_LISTS = 10_000;

interface Encoder extends Format<unknown> {
  encode(transcript: Transcript, request?: object): unknown;
}

const FORMATS = [anthropic, openaiChat, openaiResponses, gemini, aiSdk].map(
  (format) => format as unknown as Encoder,
);

describe.each(FORMATS)("random messages to send encoded for $name", (format) => {
  it("are taken by the provider, and say and call what the messages to send do", () => {
    fc.assert(
      fc.property(randomMessagesToSend(), (transcript) => checkEncoded(format, transcript)),
      { numRuns: runs(MESSAGE_LISTS, 300) },
    );
  });

  it("also when the same format has read them", () => {
    const read = randomMessagesToSend().map((transcript) => format.decode(format.encode(transcript)));
    const messageLists = fc.oneof(edited(read), editedRequest(format.name));
    fc.assert(
      fc.property(messageLists, (transcript) => checkEncoded(format, transcript)),
      { numRuns: runs(MESSAGE_LISTS / 5, 100) },
    );
  });
});

function checkEncoded(format: Encoder, transcript: Transcript): void {
  const wire = format.encode(transcript);
  expect(format.faults(wire)).toEqual([]);
  const decoded = format.decode(wire);
  expectSame(joined(saidIn(decoded, format)), joined(withEnds(saidIn(transcript, format))));
  const again = format.encode(decoded);
  // Where only some calls of Gemini have ids, the names of the others may be taken.
  if (format.name === "gemini") expectSame(withoutIds(again), withoutIds(wire));
  else expectSame(again, wire);
}

function withoutIds(wire: unknown): unknown {
  return JSON.parse(JSON.stringify(wire, (key, value) => (key === "id" ? undefined : value)));
}

/** Node compares much faster than the test framework, which then shows the difference. */
function expectSame(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

interface Said {
  readonly system: string;
  readonly turns: readonly (readonly [side: string, text: string])[];
}

/** Everything that a model reads of a transcript, one line a text or call. */
function saidIn(transcript: Transcript, { name }: Encoder): Said {
  const lines = project(transcript).flatMap((message) => {
    const side = sideOf(message.role);
    return message.parts.flatMap((part) =>
      linesOf({ ...message, role: side }, part, name).map(([on, text]) => [on, text] as const),
    );
  });
  return {
    system: lines
      .flatMap(([side, text]) => (side === "system" ? [text] : []))
      .join("\n")
      .replace(/\n+/g, "\n"),
    turns: lines.filter(([side]) => side !== "system"),
  };
}

/** Texts of one side in a row as one, with one line break: where two of them meet is the format's matter. */
function joined({ system, turns }: Said): Said {
  const runs: [string, string][] = [];
  for (const [side, text] of turns) {
    const last = runs.at(-1);
    if (last?.[0] === side && !isCallLine(text) && !isCallLine(last[1])) last[1] += `\n${text}`;
    else runs.push([side, text]);
  }
  return { system, turns: runs.map(([side, text]) => [side, text.replace(/\n+/g, "\n")]) };
}

function isCallLine(text: string): boolean {
  return text.includes(" → ");
}

function sideOf(role: string): string {
  if (role === "developer") return "system";
  return role === "system" || role === "assistant" ? role : "user";
}

function linesOf(message: Message, part: Part, format: string): readonly (readonly [string, string])[] {
  switch (part.type) {
    case "text": {
      const text = isMalformed(part.text) ? normalizePartText(message, part) : part.text;
      return part.ignored || text.trim() === "" ? [] : [[message.role, text]];
    }
    case "compaction":
      return [["user", COMPACTION_QUESTION]];
    case "file":
      return [[message.role, filePlaceholder(part)]];
    case "tool":
      return part.callMissing ? [] : [["assistant", `${callLine(part, format)} → ${resultLine(part)}`]];
    default:
      return [];
  }
}

function callLine({ tool, input }: ToolPart, format: string): string {
  const name = tool.slice(0, 64).replace(format === "gemini" ? /[^\w.:-]/g : /[^\w-]/g, "_") || "unknown";
  const clean = mapStrings(input ?? {}, normalizeTypedText);
  return `${name} ${JSON.stringify(isObject(clean) ? clean : { input: clean })}`;
}

function resultLine({ outcome }: ToolPart): string {
  if (outcome.status === "pending") return "[Tool result not available]";
  const text = outcomeText(outcome);
  const files = outcome.status === "done" ? outcome.attachments.map(filePlaceholder) : [];
  const clean = isMalformed(text) ? normalizeText(text) : text;
  return [...(clean.trim() === "" ? [] : [clean]), ...files].join("\n");
}

/** A request starts with the user and does not end with an answer. */
function withEnds({ system, turns }: Said): Said {
  const [first, last] = [turns[0], turns.at(-1)];
  const isAnswered = last === undefined || (last[0] === "assistant" && !isCallLine(last[1]));
  return {
    system,
    turns: [
      ...(first?.[0] === "assistant" ? [["user", COMPACTION_QUESTION] as const] : []),
      ...turns,
      ...(isAnswered ? [["user", CONTINUE_REQUEST] as const] : []),
    ],
  };
}
