import { modelFacts } from "../../../models/model-facts.ts";
import { asArray, asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import type { Fault, ProviderRule } from "../../../transcript/format.ts";
import { NO_SIGNATURES } from "../../blocks/thought-signature.ts";
import {
  faultAt,
  findCommonFaults,
  type WireBlock,
  type WireMessage,
  wireList,
} from "../../faults/find-common-faults.ts";

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

const faultOf = (rule: ProviderRule, index: number, text: string): Fault =>
  faultAt(rule, { messageId: `contents[${index}]` }, text);

/** gemini-40 and gemini-41: as many responses as calls, in the very next content; calls only where the user has just spoken. */
function* callFaults(contents: readonly Content[]): Generator<Fault> {
  for (const [index, { calls, responses }] of contents.entries()) {
    const next = contents[index + 1]?.responses.length ?? 0;
    if (calls.length > 0 && next !== calls.length)
      yield faultOf("gemini-40", index, `${calls.length} calls, ${next} responses behind them: answer each`);
    const before = contents[index - 1];
    if (responses.length > 0 && (before?.calls.length ?? 0) === 0)
      yield faultOf("gemini-40", index, "responses without calls before them: leave them out");
    if (calls.length > 0 && (before === undefined || before.role === "model"))
      yield faultOf("gemini-41", index, "calls not right behind the user: join them to the turn before");
  }
}

/** gemini-42: two roles, the user first and last, nothing empty. */
function* roleFaults(contents: readonly Content[]): Generator<Fault> {
  for (const [index, { role, parts }] of contents.entries()) {
    if (role !== "user" && role !== "model")
      yield faultOf("gemini-42", index, "a role that is not user or model: use one of these");
    if (parts.length === 0) yield faultOf("gemini-42", index, "a content without parts: leave it out");
  }
  for (const index of new Set([0, contents.length - 1])) {
    if (contents[index]?.role === "model")
      yield faultOf("gemini-42", index, "the user speaks first and last: add a user's text");
  }
}

/** gemini-43: in the current turn the first call of each step is signed, and the calls beside it are not. */
function* signatureFaults(contents: readonly Content[], model: string): Generator<Fault> {
  const start = contents.findLastIndex(({ role, parts }) => role !== "model" && parts.some(isUserText));
  const steps = [...contents.entries()].filter(([index, { calls }]) => index > start && calls.length > 0);
  const signatureOf = (part: UnknownObject | undefined) => asString(part?.thoughtSignature) || undefined;
  const isAnySigned = steps.some(([, { calls }]) => calls.some(signatureOf));
  if (!isAnySigned && !isSigningModel(model)) return;
  for (const [index, { calls }] of steps) {
    const [first, ...siblings] = calls.map(signatureOf);
    if (first === undefined)
      yield faultOf("gemini-43", index, "the first call of this step lost its signature: keep it there");
    // A sibling may have a signature of its own; a copied or placeholder one is refused.
    const isCopied = (signature: string | undefined) =>
      signature !== undefined && [first, ...NO_SIGNATURES].includes(signature);
    if (siblings.some(isCopied))
      yield faultOf("gemini-43", index, "a call beside the first is signed: sign the first only");
  }
}

/** True for a model that asks for its signatures back: all since Gemini 3. */
export function isSigningModel(model: string): boolean {
  return model !== "" && modelFacts({ id: model }).resend === "running-turn";
}

/** True for a part with which a user starts a turn. */
export function isUserText(part: UnknownObject): boolean {
  return part.functionResponse === undefined && typeof part.text === "string" && part.thought !== true;
}

/** gemini-45: media among the responses to calls. */
function* mediaFaults(contents: readonly Content[]): Generator<Fault> {
  for (const [index, { responses }] of contents.entries())
    if (responses.some(({ functionResponse }) => asObject(functionResponse).parts !== undefined))
      yield faultOf("gemini-45", index, "media in a response: a summariser may refuse it, leave it out");
}

/** The contents of a Gemini request as the rules see them, the system instruction first; total. */
export function readGeminiWire(wire: unknown): readonly WireMessage[] {
  const namer = createCallNamer();
  const readBlocks = (content: unknown, messageId: string): readonly WireBlock[] =>
    resultsFirst(
      partsOf(content).map((part, partIndex) => readPart(part, { messageId, partIndex, wire: part, namer })),
    );
  const messages = wireList(wire, "contents").map((content, index): WireMessage => {
    const isModel = asObject(content).role === "model";
    const messageId = `contents[${index}]`;
    if (isModel) namer.startTurn();
    return { messageId, side: isModel ? "assistant" : "user", blocks: readBlocks(content, messageId) };
  });
  const request = Array.isArray(wire) ? {} : asObject(wire);
  const system = request.systemInstruction ?? request.system_instruction;
  if (system === undefined || system === null) return messages;
  const messageId = "systemInstruction";
  return [{ messageId, side: "system", blocks: readBlocks(system, messageId) }, ...messages];
}

/** Within one content the API takes responses and what belongs to them, such as an image, in any order. */
function resultsFirst(blocks: readonly WireBlock[]): readonly WireBlock[] {
  const isResult = ({ type }: WireBlock): boolean => type === "result";
  const last = blocks.findLastIndex(isResult);
  if (last < 1 || blocks.slice(0, last).every(isResult)) return blocks;
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))];
}

/** The parts of a content, however broken it is. */
export function partsOf(content: unknown): readonly unknown[] {
  return asArray(asObject(content).parts);
}

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

type CallNamer = ReturnType<typeof createCallNamer>;

/** Names calls that have no id by their order, and finds for a result the call it answers: by id, else by name in the newest turn. */
function createCallNamer() {
  let open = new Map<string, string[]>();
  const older = new Map<string, string[]>();
  let count = 0;
  const listOf = (lists: Map<string, string[]>, name: string): string[] => {
    const list = lists.get(name) ?? [];
    lists.set(name, list);
    return list;
  };
  return {
    startTurn(): void {
      for (const [name, ids] of open) listOf(older, name).push(...ids);
      open = new Map();
    },
    call({ id, name }: UnknownObject): string {
      const given = asString(id);
      if (given) return given;
      const callId = `${asString(name)}#${++count}`;
      listOf(open, `${asString(name)}`).push(callId);
      return callId;
    },
    result({ id, name }: UnknownObject): string {
      const given = asString(id);
      if (given) return given;
      const tool = `${asString(name)}`;
      return listOf(open, tool).shift() ?? listOf(older, tool).pop() ?? `${tool}#?${++count}`;
    },
  };
}
