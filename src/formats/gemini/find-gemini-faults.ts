import type { Fault } from "../../transcript/find-faults.ts";
import { type Fields, fields, stringField } from "../fields.ts";
import { findCommonFaults } from "../wire-faults/find-common-faults.ts";
import { wireList } from "../wire-faults/wire-list.ts";
import { faultAt, type WirePlace } from "../wire-faults/wire-message.ts";
import { NO_SIGNATURES, partsOf, readGeminiWire } from "./read-gemini-wire.ts";

/**
 * What Google's Gemini API would refuse in a request, or in its bare list of contents. Checks common-01 to common-12
 * and gemini-40 to 43, and gemini-45 on what a summariser is sent.
 */
export function findGeminiFaults(wire: unknown, options: GeminiFaultOptions = {}): readonly Fault[] {
  const contents = wireList(wire, "contents").map(readContent);
  const model = options.model ?? stringField(fields(wire).model) ?? "";
  return [
    ...findCommonFaults(readGeminiWire(wire)),
    ...callFaults(contents),
    ...roleFaults(contents),
    ...signatureFaults(contents, model),
    ...(options.reader === "summarizer" ? mediaFaults(contents) : []),
  ];
}

export interface GeminiFaultOptions {
  /** Gemini 3 asks for thought signatures; read from the request when unset. */
  readonly model?: string;
  /** Who reads the contents: a summariser may not take what tools returned as media. */
  readonly reader?: "model" | "summarizer";
}

interface Content {
  readonly role: unknown;
  readonly parts: readonly Fields[];
  readonly calls: readonly Fields[];
  readonly responses: readonly Fields[];
}

function readContent(content: unknown): Content {
  const parts = partsOf(content).map(fields);
  return {
    role: fields(content).role ?? "user",
    parts,
    calls: parts.filter((part) => part.functionCall !== undefined),
    responses: parts.filter((part) => part.functionResponse !== undefined),
  };
}

const placeOf = (index: number): WirePlace => ({ messageId: `contents[${index}]` });

/** gemini-40 and gemini-41: as many responses as calls, in the very next content; calls only where the user has just spoken. */
function callFaults(contents: readonly Content[]): readonly Fault[] {
  const faults: Fault[] = [];
  for (const [index, { calls, responses }] of contents.entries()) {
    const next = contents[index + 1]?.responses.length ?? 0;
    if (calls.length > 0 && next !== calls.length)
      faults.push(
        faultAt(
          "gemini-40",
          placeOf(index),
          `${calls.length} calls, ${next} responses behind them: answer each`,
        ),
      );
    const before = contents[index - 1];
    if (responses.length > 0 && (before?.calls.length ?? 0) === 0)
      faults.push(
        faultAt("gemini-40", placeOf(index), "responses without calls before them: leave them out"),
      );
    if (calls.length > 0 && (before === undefined || before.role === "model"))
      faults.push(
        faultAt("gemini-41", placeOf(index), "calls not right behind the user: join them to the turn before"),
      );
  }
  return faults;
}

/** gemini-42: two roles, the user first and last, nothing empty. */
function roleFaults(contents: readonly Content[]): readonly Fault[] {
  const faults: Fault[] = [];
  for (const [index, { role, parts }] of contents.entries()) {
    if (role !== "user" && role !== "model")
      faults.push(faultAt("gemini-42", placeOf(index), "a role that is not user or model: use one of these"));
    if (parts.length === 0)
      faults.push(faultAt("gemini-42", placeOf(index), "a content without parts: leave it out"));
  }
  for (const index of new Set([0, contents.length - 1])) {
    if (contents[index]?.role === "model")
      faults.push(faultAt("gemini-42", placeOf(index), "the user speaks first and last: add a user's text"));
  }
  return faults;
}

/** gemini-43: in the current turn the first call of each step is signed, and the calls beside it are not. */
function signatureFaults(contents: readonly Content[], model: string): readonly Fault[] {
  const start = contents.findLastIndex(({ role, parts }) => role !== "model" && parts.some(isUserText));
  const steps = [...contents.entries()].filter(([index, { calls }]) => index > start && calls.length > 0);
  const isSigned = (part: Fields | undefined) => Boolean(stringField(part?.thoughtSignature));
  const mustSign =
    /gemini-3/i.test(model) || steps.some(([, { calls }]) => calls.some((call) => isSigned(call)));
  if (!mustSign) return [];
  return steps.flatMap(
    ([
      index,
      {
        calls: [first, ...siblings],
      },
    ]) => {
      const faults: Fault[] = [];
      if (!isSigned(first))
        faults.push(
          faultAt(
            "gemini-43",
            placeOf(index),
            "the first call of this step lost its signature: keep it there",
          ),
        );
      // A sibling may keep a signature of its own; what was put there to please the check is refused.
      const copied = [stringField(first?.thoughtSignature), ...NO_SIGNATURES];
      if (siblings.some((part) => isSigned(part) && copied.includes(stringField(part.thoughtSignature))))
        faults.push(
          faultAt("gemini-43", placeOf(index), "a call beside the first is signed: sign the first only"),
        );
      return faults;
    },
  );
}

/** True for a part with which a user starts a turn. */
export function isUserText(part: Fields): boolean {
  return part.functionResponse === undefined && typeof part.text === "string" && part.thought !== true;
}

/** gemini-45: media among the responses to calls. */
function mediaFaults(contents: readonly Content[]): readonly Fault[] {
  return contents.flatMap(({ responses }, index) =>
    responses.some(({ functionResponse }) => fields(functionResponse).parts !== undefined)
      ? [
          faultAt(
            "gemini-45",
            placeOf(index),
            "media in a response: a summariser may refuse it, leave it out",
          ),
        ]
      : [],
  );
}
