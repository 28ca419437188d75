import {
  createCallNamer,
  createIdDeduplicator,
  type Message,
  type MessageId,
  type NameCall,
  type Transcript,
} from "../../transcript/message.ts";
import type { CallId, Part, ToolPart } from "../../transcript/part.ts";
import { createOpenCalls } from "../content/call-ids.ts";
import { derivedMessageId } from "../content/message-id.ts";
import type {
  Block,
  BlockAdapter,
  CallBlock,
  ItemContent,
  PlacedBlock,
  ResultBlock,
} from "./block-adapter.ts";

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

/**
 * Reads the items of a wire and joins each call with its result, wherever that comes behind it. Calls that share an id
 * get names of their own; the values of such a call and of its result have them in, for when they are written.
 */
export function readBlocks<Wire, Item, Value>(
  adapter: BlockAdapter<Wire, Item, Value>,
  wire: Wire,
): Reading<Item, Value> {
  const items = adapter.open(wire);
  const contents = items.map((item) => adapter.read(item));
  const isCallElsewhere = adapter.continues?.(wire) === true;
  const nameCall = createCallNamer();
  const openCalls = createWaitingCalls<Value>();
  const transcript: OpenMessage<Value>[] = [];
  for (const [item, { role, blocks, id }] of contents.entries()) {
    const message: OpenMessage<Value> = { item, lastItem: item, id, role, parts: [] };
    const names = new Map<CallId, CallId>();
    for (const [index, block] of blocks.entries()) {
      const placed: Placed<Value> = { item, index, ...writtenValue(block) };
      if (block.type === "part") {
        const name = block.ofCall === undefined ? undefined : names.get(block.ofCall);
        const named = name === undefined ? placed : renamed(adapter, placed, name);
        message.parts.push({ part: block.part, main: { half: "whole", part: block.part, ...named } });
      } else if (block.type === "call") {
        const part = pendingPart(block, nameCall(block.callId ?? ""));
        const named = part.callId === block.callId ? placed : renamed(adapter, placed, part.callId);
        if (named !== placed && block.callId !== undefined) names.set(block.callId, part.callId);
        const open: OpenPart<Value> = { part, main: { half: "call", part, ...named } };
        message.parts.push(open);
        openCalls.add({ open, part, message, block, isRenamed: named !== placed });
      } else {
        const call = openCalls.take(block);
        if (call === undefined) {
          const part = orphanPart(block, isCallElsewhere ? nameCall : undefined);
          message.parts.push({ part, main: { half: "result", part, ...placed } });
        } else {
          const part = { ...call.part, outcome: block.outcome };
          const named = call.isRenamed ? renamed(adapter, placed, part.callId) : placed;
          call.open.part = part;
          call.open.result = { half: "result", part, ...named };
          call.message.lastItem = item;
        }
      }
    }
    if (message.parts.length > 0 || blocks.length === 0) transcript.push(message);
  }
  const nameMessage = createIdDeduplicator();
  let position = 0;
  return {
    // A system prompt that is added or left out moves no message to another place.
    transcript: transcript.map((message) =>
      closeMessage(message, message.role === "system" ? position : position++, nameMessage),
    ),
    items,
    contents,
    origins: transcript.map(({ item, lastItem, parts }) => ({ item, lastItem, parts })),
  };
}

/** A message while the results of its calls may still come. */
interface OpenMessage<Value> {
  readonly item: number;
  lastItem: number;
  readonly id: MessageId | undefined;
  readonly role: string;
  readonly parts: OpenPart<Value>[];
}

interface OpenPart<Value> {
  part: Part;
  readonly main: PlacedBlock<Value>;
  result?: PlacedBlock<Value>;
}

type Placed<Value> = Omit<PlacedBlock<Value>, "half" | "part">;

/** The value to write for a block: without what the API would refuse. */
function writtenValue<Value>({ value, repaired }: Block<Value>): Pick<Placed<Value>, "value" | "changed"> {
  return repaired === undefined ? { value } : { value: repaired, changed: true };
}

/** The same reference where the wire has no place for a call id. */
function renamed<Value>(
  { renameCall }: Pick<BlockAdapter<unknown, unknown, Value>, "renameCall">,
  placed: Placed<Value>,
  callId: CallId,
): Placed<Value> {
  const value = renameCall(placed.value, callId);
  return value === placed.value ? placed : { ...placed, value, changed: true };
}

interface WaitingCall<Value> {
  readonly open: OpenPart<Value>;
  readonly part: ToolPart;
  readonly message: OpenMessage<Value>;
  readonly block: CallBlock<Value>;
  readonly isRenamed: boolean;
}

/** Calls that wait for their result: by id, or, where the wire gives none, by tool and order within the newest turn. */
function createWaitingCalls<Value>() {
  const byId = createOpenCalls<WaitingCall<Value>>();
  let byTool = new Map<string, CallQueue<Value>>();
  let inOrder: CallQueue<Value> = { calls: [], next: 0 };
  let turn: OpenMessage<Value> | undefined;
  return {
    add(call: WaitingCall<Value>): void {
      const { message, block } = call;
      if (block.callId) {
        byId.add(block.callId, message, call);
        return;
      }
      if (turn !== message) {
        byTool = new Map();
        inOrder = { calls: [], next: 0 };
      }
      turn = message;
      inOrder.calls.push(call);
      const queue = byTool.get(block.tool);
      if (queue === undefined) byTool.set(block.tool, { calls: [call], next: 0 });
      else queue.calls.push(call);
    },
    take({ callId, tool }: ResultBlock<Value>): WaitingCall<Value> | undefined {
      const named = callId ? byId.take(callId) : undefined;
      if (named !== undefined) return named;
      const queue = tool === undefined ? inOrder : byTool.get(tool);
      // A call is in two queues.
      while (queue?.calls[queue.next]?.open.result !== undefined) queue.next++;
      return queue?.calls[queue.next++];
    },
  };
}

interface CallQueue<Value> {
  readonly calls: WaitingCall<Value>[];
  next: number;
}

/** The tool name of a result without a call. */
export const UNKNOWN_TOOL = "unknown";

function pendingPart({ tool, input, isSigned }: CallBlock<unknown>, callId: CallId): ToolPart {
  const part: ToolPart = { type: "tool", callId, tool, input, outcome: { status: "pending" } };
  return isSigned ? { ...part, signed: true } : part;
}

/** `nameCall` is given where the call may be stored at the provider. */
function orphanPart(
  { callId = "", tool, outcome }: ResultBlock<unknown>,
  nameCall: NameCall | undefined,
): ToolPart {
  const part = { type: "tool", tool: tool ?? UNKNOWN_TOOL, input: undefined, outcome } as const;
  return nameCall === undefined
    ? { ...part, callId, callMissing: true }
    : { ...part, callId: nameCall(callId) };
}

function closeMessage(
  { role, parts: open, id }: OpenMessage<unknown>,
  position: number,
  nameMessage: (id: MessageId) => MessageId,
): Message {
  const parts = open.map(({ part }) => part);
  return { id: nameMessage(id ?? derivedMessageId(position, role, parts)), role, parts };
}
