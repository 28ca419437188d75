import { modelFacts } from "../../../models/model-facts.ts";
import { asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import type { Fault } from "../../../transcript/format.ts";
import { NO_SIGNATURES } from "../../blocks/thought-signature.ts";
import { findCommonFaults } from "../../faults/find-common-faults.ts";
import {
  faultAt,
  type WireBlock,
  type WireMessage,
  wireList,
  wireMessage,
} from "../../faults/wire-message.ts";
import { contentsOf, type GeminiWire, partsOf, readGeminiContent } from "./read-content.ts";

/**
 * What Google's Gemini API would refuse in a request, or in its bare list of contents. Checks common-01 to common-12
 * and gemini-40 to 43, and gemini-45 on what a summariser is sent.
 */
export function findGeminiFaults(wire: unknown, options: GeminiFaultOptions = {}): readonly Fault[] {
  const messages = readGeminiWire(wire);
  const contents = messages.filter(({ messageId }) => messageId !== SYSTEM);
  const model = options.model ?? asString(asObject(wire).model) ?? "";
  return [
    ...findCommonFaults(messages),
    ...callFaults(contents),
    ...roleFaults(wireList(wire, "contents")),
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

/** gemini-40 and gemini-41: as many responses as calls, in the very next content; calls only where the user has just spoken. */
function* callFaults(contents: readonly WireMessage[]): Generator<Fault> {
  for (const [index, content] of contents.entries()) {
    const place = { messageId: content.messageId };
    const before = contents[index - 1];
    const calls = countOf("call", content);
    const next = countOf("result", contents[index + 1]);
    if (calls > 0 && next !== calls)
      yield faultAt("gemini-40", place, `${calls} calls, ${next} responses behind them: answer each`);
    if (countOf("result", content) > 0 && countOf("call", before) === 0)
      yield faultAt("gemini-40", place, "responses without calls before them: leave them out");
    if (calls > 0 && (before === undefined || before.side === "assistant"))
      yield faultAt("gemini-41", place, "calls not right behind the user: join them to the turn before");
  }
}

function countOf(type: WireBlock["type"], content: WireMessage | undefined): number {
  return content?.blocks.filter((block) => block.type === type).length ?? 0;
}

/** gemini-42: two roles, the user first and last, nothing empty. */
function* roleFaults(contents: readonly unknown[]): Generator<Fault> {
  const roleOf = (content: unknown): unknown => asObject(content).role ?? "user";
  const placeOf = (index: number) => ({ messageId: `contents[${index}]` });
  for (const [index, content] of contents.entries()) {
    const role = roleOf(content);
    if (role !== "user" && role !== "model")
      yield faultAt("gemini-42", placeOf(index), "a role that is not user or model: use one of these");
    if (partsOf(content).length === 0)
      yield faultAt("gemini-42", placeOf(index), "a content without parts: leave it out");
  }
  for (const index of new Set([0, contents.length - 1])) {
    if (roleOf(contents[index]) === "model")
      yield faultAt("gemini-42", placeOf(index), "the user speaks first and last: add a user's text");
  }
}

/** gemini-43: in the current turn the first call of each step is signed, and the calls beside it are not. */
function* signatureFaults(contents: readonly WireMessage[], model: string): Generator<Fault> {
  const start = contents.findLastIndex(
    ({ side, blocks }) => side !== "assistant" && blocks.some(({ wire }) => isUserText(asObject(wire))),
  );
  const steps = contents.slice(start + 1).flatMap(({ messageId, blocks }) => {
    const signatures = blocks.filter(({ type }) => type === "call").map(signatureOf);
    return signatures.length > 0 ? [{ messageId, signatures }] : [];
  });
  if (!steps.some(({ signatures }) => signatures.some(Boolean)) && !isSigningModel(model)) return;
  for (const { messageId, signatures } of steps) {
    const [first, ...siblings] = signatures;
    if (first === undefined)
      yield faultAt(
        "gemini-43",
        { messageId },
        "the first call of this step lost its signature: keep it there",
      );
    // A sibling may have a signature of its own; a copied or placeholder one is refused.
    if (
      siblings.some((signature) => signature !== undefined && [first, ...NO_SIGNATURES].includes(signature))
    )
      yield faultAt("gemini-43", { messageId }, "a call beside the first is signed: sign the first only");
  }
}

function signatureOf({ wire }: WireBlock): string | undefined {
  return asString(asObject(wire).thoughtSignature) || undefined;
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
function* mediaFaults(contents: readonly WireMessage[]): Generator<Fault> {
  const hasMedia = ({ wire }: WireBlock) => asObject(asObject(wire).functionResponse).parts !== undefined;
  for (const { messageId, blocks } of contents)
    if (blocks.some(hasMedia))
      yield faultAt(
        "gemini-45",
        { messageId },
        "media in a response: a summariser may refuse it, leave it out",
      );
}

/** The contents of a Gemini request as the rules see them, the system instruction first; total. */
export function readGeminiWire(wire: unknown): readonly WireMessage[] {
  const namer = createCallNamer();
  const items = contentsOf(wire as GeminiWire);
  const systems = items.length - wireList(wire, "contents").length;
  return items.map((item, index): WireMessage => {
    const messageId = index < systems ? SYSTEM : `contents[${index - systems}]`;
    const message = wireMessage(readGeminiContent(item), messageId, (value, partIndex) => ({
      partIndex,
      wire: value,
      ...(value.functionResponse !== undefined && { read: asObject(value.functionResponse).response }),
    }));
    if (message.side === "assistant") namer.startTurn();
    return { ...message, blocks: resultsFirst(message.blocks.map(namer.name)) };
  });
}

const SYSTEM = "systemInstruction";

/** Within one content the API takes responses and what belongs to them, such as an image, in any order. */
function resultsFirst(blocks: readonly WireBlock[]): readonly WireBlock[] {
  const isResult = ({ type }: WireBlock): boolean => type === "result";
  const last = blocks.findLastIndex(isResult);
  if (last < 1 || blocks.slice(0, last).every(isResult)) return blocks;
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))];
}

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
    name(block: WireBlock): WireBlock {
      if (block.callId !== "") return block;
      const { functionCall, functionResponse } = asObject(block.wire);
      const tool = `${asString(asObject(functionCall ?? functionResponse).name)}`;
      if (block.type === "result")
        return {
          ...block,
          callId: listOf(open, tool).shift() ?? listOf(older, tool).pop() ?? `${tool}#?${++count}`,
        };
      const callId = `${tool}#${++count}`;
      listOf(open, tool).push(callId);
      return { ...block, callId };
    },
  };
}
