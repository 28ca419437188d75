import { asObject, asString, safeJson, type UnknownObject } from "../../../text/json.ts";
import type { Fault } from "../../../transcript/format.ts";
import { findCommonFaults } from "../../faults/find-common-faults.ts";
import {
  type EditExpectation,
  findCommonEditFaults,
  findSignedContentFaults,
  type SignedContent,
} from "../../faults/find-edit-faults.ts";
import {
  faultAt,
  type WireBlock,
  type WireMessage,
  type WirePlace,
  wireList,
} from "../../faults/wire-message.ts";

/**
 * What Google's Gemini API would refuse in a request, or in its bare list of contents. Checks common-01 to common-12
 * and gemini-40 to 43, and gemini-45 on what a summariser is sent.
 */
export function findGeminiFaults(wire: unknown, options: GeminiFaultOptions = {}): readonly Fault[] {
  const contents = wireList(wire, "contents").map(readContent);
  const model = options.model ?? asString(asObject(wire).model) ?? "";
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
  readonly parts: readonly UnknownObject[];
  readonly calls: readonly UnknownObject[];
  readonly responses: readonly UnknownObject[];
}

function readContent(content: unknown): Content {
  const parts = partsOf(content).map(asObject);
  return {
    role: asObject(content).role ?? "user",
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
  const isSigned = (part: UnknownObject | undefined) => Boolean(asString(part?.thoughtSignature));
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
      const copied = [asString(first?.thoughtSignature), ...NO_SIGNATURES];
      if (siblings.some((part) => isSigned(part) && copied.includes(asString(part.thoughtSignature))))
        faults.push(
          faultAt("gemini-43", placeOf(index), "a call beside the first is signed: sign the first only"),
        );
      return faults;
    },
  );
}

/** True for a part with which a user starts a turn. */
export function isUserText(part: UnknownObject): boolean {
  return part.functionResponse === undefined && typeof part.text === "string" && part.thought !== true;
}

/** gemini-45: media among the responses to calls. */
function mediaFaults(contents: readonly Content[]): readonly Fault[] {
  return contents.flatMap(({ responses }, index) =>
    responses.some(({ functionResponse }) => asObject(functionResponse).parts !== undefined)
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

/** What an edit broke between a Gemini wire before and after it: gemini-44 and gemini-46, and what else is expected of the edit. */
export function findGeminiEditFaults(
  before: unknown,
  after: unknown,
  expected: EditExpectation = {},
): readonly Fault[] {
  const [old, now] = [readGeminiWire(before), readGeminiWire(after)];
  return [
    ...findSignedContentFaults({ rule: "gemini-44", before: signedParts(old), after: signedParts(now) }),
    ...loopFaults(interruptions(old), interruptions(now)),
    ...findCommonEditFaults(old, now, expected),
  ];
}

function signedParts(messages: readonly WireMessage[]): readonly SignedContent[] {
  return messages.flatMap(({ blocks }) =>
    blocks.flatMap((block) => {
      const seal = asString(asObject(block.wire).thoughtSignature);
      return seal === undefined || NO_SIGNATURES.includes(seal) ? [] : [{ ...block, seal }];
    }),
  );
}

/** gemini-46: what an edit put between the steps of a tool loop; in place of what stood there before, it does no harm. */
function loopFaults(before: readonly Interruption[], after: readonly Interruption[]): readonly Fault[] {
  const isNew = (those: readonly Interruption[]) => {
    const known = new Set(those.flatMap((blocks) => blocks.map(({ wire }) => safeJson(wire))));
    return (blocks: Interruption) => !blocks.some(({ wire }) => known.has(safeJson(wire)));
  };
  const replaced = before.filter(isNew(after)).length;
  return after
    .filter(isNew(before))
    .slice(replaced)
    .map(([first]) =>
      faultAt(
        "gemini-46",
        first ?? { messageId: "" },
        "what the user says inside a tool loop ends the turn: put it before the loop",
      ),
    );
}

/** What the user says between one step with calls and the next. */
type Interruption = readonly WireBlock[];

function interruptions(messages: readonly WireMessage[]): readonly Interruption[] {
  const found: Interruption[] = [];
  let said: WireBlock[] = [];
  let isInLoop = false;
  for (const { side, blocks } of messages) {
    if (side !== "assistant") {
      said.push(...blocks.filter((block) => block.type !== "result"));
      continue;
    }
    const isStep = blocks.some((block) => block.type === "call");
    if (isInLoop && isStep && said.length > 0) found.push(said);
    said = [];
    isInLoop = isStep;
  }
  return found;
}

/** The contents of a Gemini request as the rules see them, the system instruction first; total. */
function readGeminiWire(wire: unknown): readonly WireMessage[] {
  const namer = createCallNamer();
  const messages = wireList(wire, "contents").map((content, index): WireMessage => {
    const { role } = asObject(content);
    const messageId = `contents[${index}]`;
    if (role === "model") namer.startTurn();
    const blocks = partsOf(content).map((part, partIndex) =>
      readPart(part, { messageId, partIndex, wire: part, namer }),
    );
    return { messageId, side: role === "model" ? "assistant" : "user", blocks };
  });
  const { systemInstruction, system_instruction: snakeCase } = asObject(
    Array.isArray(wire) ? undefined : wire,
  );
  const system = systemInstruction ?? snakeCase;
  if (system === undefined || system === null) return messages;
  const messageId = "systemInstruction";
  const blocks = partsOf(system).map((part, partIndex) =>
    readPart(part, { messageId, partIndex, wire: part, namer }),
  );
  return [{ messageId, side: "system", blocks }, ...messages];
}

/** The parts of a content, however broken it is. */
export function partsOf(content: unknown): readonly unknown[] {
  const { parts } = asObject(content);
  return Array.isArray(parts) ? parts : [];
}

/** What Google says to send where there is no signature. */
export const NO_SIGNATURES: readonly string[] = [
  "skip_thought_signature_validator",
  "context_engineering_is_the_way_to_go",
];

interface PartContext {
  readonly messageId: string;
  readonly partIndex: number;
  readonly wire: unknown;
  readonly namer: CallNamer;
}

function readPart(part: unknown, { namer, ...place }: PartContext): WireBlock {
  const { text, thought, functionCall, functionResponse, inlineData, fileData, thoughtSignature } =
    asObject(part);
  if (functionCall !== undefined) {
    const { name, args } = asObject(functionCall);
    return { ...place, type: "call", callId: namer.call(asObject(functionCall)), read: [name, args] };
  }
  if (functionResponse !== undefined) {
    const { response } = asObject(functionResponse);
    return { ...place, type: "result", callId: namer.result(asObject(functionResponse)), read: response };
  }
  if (inlineData !== undefined || fileData !== undefined) return { ...place, type: "media" };
  // A stream may end with an empty text that only carries the signature.
  if (thought === true || (text === "" && thoughtSignature !== undefined))
    return { ...place, type: "reasoning" };
  return text === undefined ? { ...place, type: "opaque" } : { ...place, type: "text", read: text };
}

interface CallNamer {
  startTurn(): void;
  call(functionCall: UnknownObject): string;
  result(functionResponse: UnknownObject): string;
}

/** Names calls that have no id by their place, and finds for a result the call it answers: by id, else by name in the newest turn. */
function createCallNamer(): CallNamer {
  let open = new Map<string, string[]>();
  const older = new Map<string, string[]>();
  let count = 0;
  return {
    startTurn() {
      for (const [name, ids] of open) {
        const left = older.get(name);
        if (left === undefined) older.set(name, ids);
        else left.push(...ids);
      }
      open = new Map();
    },
    call({ id, name }) {
      const given = asString(id);
      if (given !== undefined && given !== "") return given;
      const callId = `${String(name)}#${++count}`;
      const queue = open.get(String(name));
      if (queue === undefined) open.set(String(name), [callId]);
      else queue.push(callId);
      return callId;
    },
    result({ id, name }) {
      const given = asString(id);
      if (given !== undefined && given !== "") return given;
      return (
        open.get(String(name))?.shift() ?? older.get(String(name))?.pop() ?? `${String(name)}#?${++count}`
      );
    },
  };
}
