import { groupBy, isObject } from "../text/json.ts";
import { ANCHOR_TYPES, type Anchor } from "../transcript/carried-facts.ts";
import type { Message } from "../transcript/message.ts";

/**
 * The message with its anchors grouped by handle, as the text of a summary has them: what stands in both is then stored
 * once. Any other message as it is.
 */
export function groupAnchors(message: Message): unknown {
  const carried = message.metadata?.carried;
  const anchors = carried === undefined ? undefined : groupsOf(carried.anchors);
  if (anchors === undefined) return message;
  return { ...message, metadata: { ...message.metadata, carried: { ...carried, anchors } } };
}

/** What `groupAnchors` was given; anything else as it is. */
export function ungroupAnchors(value: unknown): unknown {
  if (!isObject(value) || !isObject(value.metadata) || !isObject(value.metadata.carried)) return value;
  const { metadata } = value;
  const anchors = anchorsOf(value.metadata.carried.anchors);
  if (anchors === undefined) return value;
  return { ...value, metadata: { ...metadata, carried: { ...value.metadata.carried, anchors } } };
}

interface AnchorGroups {
  readonly handles: readonly string[];
  /** The texts of each handle, in their order. */
  readonly texts: readonly string[];
  /** For each anchor by rank: which handle, which type, how often it was seen. */
  readonly order: readonly number[];
  readonly types: readonly number[];
  readonly seen: readonly number[];
}

function groupsOf(anchors: readonly Anchor[]): AnchorGroups | undefined {
  if (anchors.some(({ text }) => text.includes(SEPARATOR))) return undefined;
  const groups = groupBy(anchors, ({ handle }) => handle);
  const handles = [...groups.keys()];
  const places = new Map(handles.map((handle, index) => [handle, index]));
  return {
    handles,
    texts: [...groups.values()].map((group) => group.map(({ text }) => text).join(SEPARATOR)),
    order: anchors.map(({ handle }) => places.get(handle) ?? 0),
    types: anchors.map(({ type }) => ANCHOR_TYPES.indexOf(type)),
    seen: anchors.map(({ seen }) => seen),
  };
}

function anchorsOf(value: unknown): readonly Anchor[] | undefined {
  if (!isObject(value)) return undefined;
  const { handles, texts, order, types, seen } = value as Partial<Record<keyof AnchorGroups, unknown>>;
  if (![handles, texts, order, types, seen].every(Array.isArray)) return undefined;
  const left = (texts as readonly unknown[]).map((text) => String(text).split(SEPARATOR));
  return (order as readonly number[]).flatMap((group, index): Anchor[] => {
    const text = left[group]?.shift();
    const type = ANCHOR_TYPES[Number((types as readonly unknown[])[index])];
    if (text === undefined || type === undefined) return [];
    const handle = String((handles as readonly unknown[])[group]);
    return [{ type, text, handle, seen: Number((seen as readonly unknown[])[index]) }];
  });
}

const SEPARATOR = " · ";
