import { asArray, asObject, asString, type UnknownObject } from "../../../../src/text/unknown-value.ts";
import { sealOf } from "../wire.ts";

/** What OpenAI's Responses API does with reasoning items: newer models do not read those whose history was changed. */
export interface BoundReasoning {
  /** What is wrong with the form of an item, for every model. */
  findRefusal(body: UnknownObject): string | undefined;
  /** The items that a newer model does not read; nothing is refused for them. */
  findDropped(body: UnknownObject): readonly string[];
  /** An answer whose reasoning is bound to what was sent and to what stands before it in the answer. */
  sign<Item extends UnknownObject>(body: UnknownObject, items: readonly Item[]): readonly Item[];
}

/** Rules of a server that has stored nothing yet. */
export function createBoundReasoning(): BoundReasoning {
  const stored = new Map<unknown, UnknownObject>();

  function itemsOf({ input }: UnknownObject): readonly UnknownObject[] {
    if (typeof input === "string") return [{ role: "user", content: input }];
    return asArray(input)
      .map(asObject)
      .map((item) => (item.type === "item_reference" ? (stored.get(item.id) ?? item) : item));
  }

  return {
    findRefusal(body) {
      const items = itemsOf(body);
      for (const [index, { type, id, summary }] of items.entries()) {
        if (type !== "reasoning") continue;
        if (!Array.isArray(summary)) return `Missing required parameter: 'input[${index}].summary'.`;
        if (!isMadeByModel(items[index + 1]))
          return `Item '${String(id)}' of type 'reasoning' was provided without its required following item.`;
      }
      return undefined;
    },

    findDropped(body) {
      const items = itemsOf(body);
      return items.flatMap(({ type, encrypted_content: sealed }, index) => {
        const binding = asString(sealed)?.split(".")[1];
        const isRead =
          type !== "reasoning" || binding === undefined || binding === bindingOf(items.slice(0, index));
        return isRead ? [] : [`input.${index}: reasoning of another history`];
      });
    },

    sign(body, items) {
      const before = itemsOf(body);
      const signed = items.map((item, index) =>
        item.type === "reasoning"
          ? {
              ...item,
              encrypted_content: `${String(item.encrypted_content)}.${bindingOf([...before, ...items.slice(0, index)])}`,
            }
          : item,
      );
      for (const item of signed) stored.set(item.id, item);
      return signed;
    },
  };
}

function isMadeByModel(item: UnknownObject | undefined): boolean {
  if (item === undefined) return false;
  const { type = "message", role } = item;
  return type === "message"
    ? role === "assistant"
    : type !== "item_reference" && !/_output$/.test(String(type));
}

/** By value: reasoning itself, names, status and the form of a text do not count. */
function bindingOf(items: readonly UnknownObject[]): string {
  return sealOf(
    ...items
      .filter(({ type }) => type !== "reasoning")
      .map(({ type = "message", role, content, call_id, name, arguments: input, output }) =>
        type === "message" ? [role, plain(content)] : [type, call_id, name, input, plain(output)],
      ),
  );
}

function plain(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content
    .map(asObject)
    .map(({ text, ...rest }) => text ?? rest)
    .reduce<unknown>(joined, undefined);
}

/** A lone text is the same as a string. */
function joined(all: unknown, part: unknown): unknown {
  return all === undefined ? part : [all, part];
}
