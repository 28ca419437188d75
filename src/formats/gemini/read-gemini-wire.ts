import { type Fields, fields, stringField } from "../fields.ts";
import { wireList } from "../wire-faults/wire-list.ts";
import type { WireBlock, WireMessage } from "../wire-faults/wire-message.ts";

/** The contents of a Gemini request as the rules see them, the system instruction first; total. */
export function readGeminiWire(wire: unknown): readonly WireMessage[] {
  const namer = createCallNamer();
  const messages = wireList(wire, "contents").map((content, index): WireMessage => {
    const { role } = fields(content);
    const messageId = `contents[${index}]`;
    if (role === "model") namer.startTurn();
    const blocks = partsOf(content).map((part, partIndex) =>
      readPart(part, { messageId, partIndex, wire: part, namer }),
    );
    return { messageId, side: role === "model" ? "assistant" : "user", blocks };
  });
  const { systemInstruction, system_instruction: snakeCase } = fields(Array.isArray(wire) ? undefined : wire);
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
  const { parts } = fields(content);
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
    fields(part);
  if (functionCall !== undefined) {
    const { name, args } = fields(functionCall);
    return { ...place, type: "call", callId: namer.call(fields(functionCall)), read: [name, args] };
  }
  if (functionResponse !== undefined) {
    const { response } = fields(functionResponse);
    return { ...place, type: "result", callId: namer.result(fields(functionResponse)), read: response };
  }
  if (inlineData !== undefined || fileData !== undefined) return { ...place, type: "media" };
  // A stream may end with an empty text that only carries the signature.
  if (thought === true || (text === "" && thoughtSignature !== undefined))
    return { ...place, type: "reasoning" };
  return text === undefined ? { ...place, type: "opaque" } : { ...place, type: "text", read: text };
}

interface CallNamer {
  startTurn(): void;
  call(functionCall: Fields): string;
  result(functionResponse: Fields): string;
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
      const given = stringField(id);
      if (given !== undefined && given !== "") return given;
      const callId = `${String(name)}#${++count}`;
      const queue = open.get(String(name));
      if (queue === undefined) open.set(String(name), [callId]);
      else queue.push(callId);
      return callId;
    },
    result({ id, name }) {
      const given = stringField(id);
      if (given !== undefined && given !== "") return given;
      return (
        open.get(String(name))?.shift() ?? older.get(String(name))?.pop() ?? `${String(name)}#?${++count}`
      );
    },
  };
}
