import type { Message, MessageId, Transcript } from "../../transcript/message.ts";
import type { CallId, Part, ToolPart } from "../../transcript/part.ts";
import type { BlockAdapter, CallBlock, ItemContent, PlacedBlock, ResultBlock } from "./block-adapter.ts";
import { placeId } from "./place-id.ts";

/** A transcript, and where each of its parts stands in the wire. */
export interface Reading<Item, Value> {
  readonly transcript: Transcript;
  readonly items: readonly Item[];
  readonly contents: readonly ItemContent<Value>[];
  /** By the index of the message. */
  readonly origins: readonly MessageOrigin<Value>[];
}

/** Where a message came from. An item that holds nothing but results of earlier calls is no message of its own. */
export interface MessageOrigin<Value> {
  readonly item: number;
  /** The last item with a result of its calls. */
  readonly lastItem: number;
  readonly parts: readonly PartOrigin<Value>[];
}

export interface PartOrigin<Value> {
  readonly main: PlacedBlock<Value>;
  readonly result?: PlacedBlock<Value>;
}

/** Reads the items of a wire and joins each call with its result, wherever that stands behind it. */
export function readBlocks<Wire, Item, Value>(
  adapter: BlockAdapter<Wire, Item, Value>,
  wire: Wire,
): Reading<Item, Value> {
  const items = adapter.open(wire);
  const contents = items.map((item) => adapter.read(item));
  const isCallElsewhere = adapter.continues?.(wire) === true;
  const openCalls = createOpenCalls<Value>();
  const transcript: OpenMessage<Value>[] = [];
  for (const [item, { role, blocks }] of contents.entries()) {
    const message: OpenMessage<Value> = { item, lastItem: item, role, parts: [] };
    for (const [index, block] of blocks.entries()) {
      const place = { item, index };
      const placed: Placed<Value> =
        block.mended === undefined
          ? { ...place, value: block.value }
          : { ...place, value: block.mended, changed: true };
      if (block.type === "part") {
        message.parts.push({ part: block.part, main: { half: "whole", part: block.part, ...placed } });
      } else if (block.type === "call") {
        const part = pendingPart(block, place);
        const open: OpenPart<Value> = { part, main: { half: "call", part, ...placed } };
        message.parts.push(open);
        openCalls.add({ open, message, callId: block.callId });
      } else {
        const call = openCalls.take(block);
        if (call === undefined) {
          const part = loosePart(block, place, isCallElsewhere);
          message.parts.push({ part, main: { half: "result", part, ...placed } });
        } else {
          const { open } = call;
          open.part = {
            ...(open.part as ToolPart),
            callId: call.callId ?? block.callId ?? (open.part as ToolPart).callId,
            outcome: block.outcome,
          };
          open.result = { half: "result", part: open.part, ...placed };
          call.message.lastItem = item;
        }
      }
    }
    if (message.parts.length > 0 || blocks.length === 0) transcript.push(message);
  }
  return {
    transcript: transcript.map(closeMessage),
    items,
    contents,
    origins: transcript.map(({ item, lastItem, parts }) => ({ item, lastItem, parts })),
  };
}

/** A message while the results of its calls may still come. */
interface OpenMessage<Value> {
  readonly item: number;
  lastItem: number;
  readonly role: string;
  readonly parts: OpenPart<Value>[];
}

interface OpenPart<Value> {
  part: Part;
  readonly main: PlacedBlock<Value>;
  result?: PlacedBlock<Value>;
}

interface OpenCall<Value> {
  readonly open: OpenPart<Value>;
  readonly message: OpenMessage<Value>;
  readonly callId: CallId | undefined;
}

/** Calls that wait for their result: by id, or, where the wire gives none, by tool and order within the newest turn. */
function createOpenCalls<Value>() {
  const byId = new Map<CallId, OpenCall<Value>[]>();
  /** Newest first, so that the oldest can be taken from the end. */
  let byTool = new Map<string, OpenCall<Value>[]>();
  let turn: OpenMessage<Value> | undefined;
  let arrived: OpenCall<Value>[] = [];

  function sortArrived(): void {
    for (const call of arrived.toReversed()) push(byTool, toolOf(call), call);
    arrived = [];
  }

  return {
    add(call: OpenCall<Value>): void {
      if (call.callId !== undefined) {
        push(byId, call.callId, call);
        return;
      }
      if (turn !== call.message) {
        turn = call.message;
        byTool = new Map();
        arrived = [];
      }
      arrived.push(call);
    },
    take({ callId, tool }: ResultBlock<Value>): OpenCall<Value> | undefined {
      const named = callId === undefined ? undefined : byId.get(callId)?.pop();
      if (named !== undefined) return named;
      sortArrived();
      const wanted = tool ?? byTool.keys().next().value;
      const calls = wanted === undefined ? undefined : byTool.get(wanted);
      const call = calls?.pop();
      if (wanted !== undefined && calls?.length === 0) byTool.delete(wanted);
      return call;
    },
  };
}

function push<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

function toolOf({ open }: OpenCall<unknown>): string {
  return open.part.type === "tool" ? open.part.tool : UNKNOWN_TOOL;
}

/** The tool of a result whose call is not there to name it. */
export const UNKNOWN_TOOL = "unknown";

type Placed<Value> = Omit<PlacedBlock<Value>, "half" | "part">;

interface Place {
  readonly item: number;
  readonly index: number;
}

function pendingPart({ callId, tool, input }: CallBlock<unknown>, place: Place): ToolPart {
  return { type: "tool", callId: callId ?? callIdAt(place), tool, input, outcome: { status: "pending" } };
}

function loosePart(
  { callId, tool, outcome }: ResultBlock<unknown>,
  place: Place,
  isCallElsewhere: boolean,
): ToolPart {
  return {
    type: "tool",
    callId: callId ?? callIdAt(place),
    tool: tool ?? UNKNOWN_TOOL,
    input: undefined,
    outcome,
    ...(!isCallElsewhere && { callMissing: true as const }),
  };
}

function callIdAt({ item, index }: Place): CallId {
  return `call-${item + 1}-${index + 1}`;
}

function closeMessage({ role, parts: open }: OpenMessage<unknown>, position: number): Message {
  const parts = open.map(({ part }) => part);
  const id: MessageId = placeId(position, role, parts);
  return { id, role, parts };
}
