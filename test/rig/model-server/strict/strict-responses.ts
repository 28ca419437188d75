import { asArray, asObject, asString, type UnknownObject } from "../../../../src/text/unknown-value.ts";
import { sealOf } from "../wire.ts";

/** What OpenAI's Responses API says to input that it does not take. It stores its answers unless it is told not to. */
export interface ResponsesRules {
  findRefusal(body: Readonly<Record<string, unknown>>): string | undefined;
  remember(response: UnknownObject): void;
}

/** Rules of a server that has stored nothing yet. */
export function createResponsesRules(): ResponsesRules {
  /** By the id of an item: all items of its response. */
  const stored = new Map<string, readonly UnknownObject[]>();

  function findRefusal(body: Readonly<Record<string, unknown>>): string | undefined {
    const given = asArray(body.input).map(asObject);
    const items: UnknownObject[] = [];
    const seen = new Set<string>();
    for (const item of given) {
      const id = asString(item.id);
      if (item.type === "item_reference" && !stored.has(id ?? "")) return `Item with id '${id}' not found.`;
      if (item.type === "item_reference" && body.store === false)
        return `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
      if (id !== undefined && seen.has(id))
        return `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`;
      if (id !== undefined) seen.add(id);
      items.push(item.type === "item_reference" ? (find(id) ?? item) : item);
    }
    return pairRefusal(items) ?? reasoningRefusal(items) ?? contentRefusal(items);
  }

  function find(id: string | undefined): UnknownObject | undefined {
    return stored.get(id ?? "")?.find((item) => item.id === id);
  }

  /** Reasoning and what came of it go together. */
  function reasoningRefusal(items: readonly UnknownObject[]): string | undefined {
    for (const [index, item] of items.entries()) {
      const id = asString(item.id) ?? "";
      const made = stored.get(id) ?? [];
      if (item.type === "reasoning") {
        const sealed = asArray(item.summary).map((entry) => asObject(entry).text);
        const { encrypted_content: given } = item;
        if (given !== undefined && String(given).split(".")[0] !== sealOf("openai", ...sealed))
          return `The encrypted content for item ${id} could not be verified.`;
        const next = items[index + 1];
        if (next === undefined || !made.some((other) => isSame(other, next)))
          return `Item '${id}' of type 'reasoning' was provided without its required following item.`;
      } else {
        const reasoning = made.find(({ type }) => type === "reasoning");
        if (reasoning !== undefined && !items.slice(0, index).some((other) => other.id === reasoning.id))
          return `Item '${id}' of type '${String(item.type ?? "message")}' was provided without its required 'reasoning' item: '${String(reasoning.id)}'.`;
      }
    }
    return undefined;
  }

  return {
    findRefusal,
    remember({ output }) {
      const items = asArray(output).map(asObject);
      for (const { id } of items) stored.set(String(id), items);
    },
  };
}

function isSame(stored: UnknownObject, item: UnknownObject): boolean {
  if (stored.type === "function_call")
    return item.type === "function_call" && item.call_id === stored.call_id;
  if (stored.type === "message") return textOf(stored) === textOf(item);
  return stored.id === item.id && stored.type !== "reasoning";
}

/** The text of a message, which a request may give as a string or in parts. */
function textOf({ content }: UnknownObject): string {
  if (typeof content === "string") return content;
  return asArray(content)
    .map((part) => asString(asObject(part).text) ?? "")
    .join("");
}

function pairRefusal(items: readonly UnknownObject[]): string | undefined {
  const open = new Set<unknown>();
  const called = new Set<unknown>();
  for (const { type, call_id: id } of items) {
    if (type === "function_call") {
      if (called.has(id)) return `Duplicate call_id found in input: '${String(id)}'.`;
      called.add(id);
      open.add(id);
      if (String(id).length > 64)
        return `Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with length ${String(id).length} instead.`;
    } else if (type === "function_call_output" && !open.delete(id)) {
      return `No tool call found for function call output with call_id ${String(id)}.`;
    }
  }
  const [missing] = open;
  return missing === undefined ? undefined : `No tool output found for function call ${String(missing)}.`;
}

function contentRefusal(items: readonly UnknownObject[]): string | undefined {
  const last = items.at(-1);
  if (last === undefined) return "Missing required parameter: 'input'.";
  const index = items.findIndex(
    ({ role, content }) => role !== undefined && Array.isArray(content) && content.length === 0,
  );
  return index === -1
    ? undefined
    : `Invalid 'input[${index}].content': empty array. Expected an array with minimum length 1.`;
}
