import type { Message, MessageId, Transcript } from "../../transcript/message.ts";
import type { CallId, Part, ToolPart } from "../../transcript/part.ts";
import type { BlockAdapter, CallBlock, ItemContent, PlacedBlock, ResultBlock } from "./block-adapter.ts";
import { derivedMessageId } from "./message-head.ts";

/** A transcript, and where each of its parts is in the wire. */
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

/** Reads the items of a wire and joins each call with its result, wherever that comes behind it. */
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
        block.repaired === undefined
          ? { ...place, value: block.value }
          : { ...place, value: block.repaired, changed: true };
      if (block.type === "part") {
        message.parts.push({ part: block.part, main: { half: "whole", part: block.part, ...placed } });
      } else if (block.type === "call") {
        const part = pendingPart(block, place);
        const open: OpenPart<Value> = { part, main: { half: "call", part, ...placed } };
        message.parts.push(open);
        openCalls.add({ open, message, callId: block.callId, tool: block.tool });
      } else {
        const call = openCalls.take(block);
        if (call === undefined) {
          const part = orphanPart(block, place, isCallElsewhere);
          message.parts.push({ part, main: { half: "result", part, ...placed } });
        } else {
          attachResult(call, block, placed);
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
  readonly tool: string;
}

function attachResult<Value>(
  { open, callId }: OpenCall<Value>,
  { callId: resultOf, outcome }: ResultBlock<Value>,
  placed: Placed<Value>,
): void {
  if (open.part.type !== "tool") return;
  const part = { ...open.part, callId: callId ?? resultOf ?? open.part.callId, outcome };
  open.part = part;
  open.result = { half: "result", part, ...placed };
}

/** Calls that wait for their result: by id, or, where the wire gives none, by tool and order within the newest turn. */
function createOpenCalls<Value>() {
  const byId = new Map<CallId, OpenCall<Value>[]>();
  let byTool = new Map<string, CallQueue<Value>>();
  let turn: OpenMessage<Value> | undefined;
  return {
    add(call: OpenCall<Value>): void {
      const { callId, tool } = call;
      if (callId !== undefined) {
        const calls = byId.get(callId);
        if (calls === undefined) byId.set(callId, [call]);
        else calls.push(call);
        return;
      }
      if (turn !== call.message) byTool = new Map();
      turn = call.message;
      const queue = byTool.get(tool);
      if (queue === undefined) byTool.set(tool, { calls: [call], next: 0 });
      else queue.calls.push(call);
    },
    take({ callId, tool }: ResultBlock<Value>): OpenCall<Value> | undefined {
      const named = callId === undefined ? undefined : byId.get(callId)?.pop();
      if (named !== undefined) return named;
      const queue = tool === undefined ? byTool.values().next().value : byTool.get(tool);
      const call = queue?.calls[queue.next++];
      if (call !== undefined && queue?.next === queue?.calls.length) byTool.delete(call.tool);
      return call;
    },
  };
}

interface CallQueue<Value> {
  readonly calls: OpenCall<Value>[];
  next: number;
}

/** The tool name of a result without a call. */
export const UNKNOWN_TOOL = "unknown";

type Placed<Value> = Omit<PlacedBlock<Value>, "half" | "part">;

interface Place {
  readonly item: number;
  readonly index: number;
}

function pendingPart({ callId, tool, input }: CallBlock<unknown>, place: Place): ToolPart {
  return { type: "tool", callId: callId ?? callIdAt(place), tool, input, outcome: { status: "pending" } };
}

function orphanPart(
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
  const id: MessageId = derivedMessageId(position, role, parts);
  return { id, role, parts };
}
