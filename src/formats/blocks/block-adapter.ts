import type { Role } from "../../transcript/message.ts";
import type { CallId, Part, ToolOutcome, ToolPart } from "../../transcript/part.ts";

/**
 * How one API writes a conversation, for `createBlockFormat`: how its items are read into blocks and written from them.
 * An item is what stands between two turns (a message, a content, a run of output items); a value is the wire of one block.
 */
export interface BlockAdapter<Wire, Item, Value> {
  readonly name: string;
  /** The items of the wire, oldest first; none where the wire is not understood. */
  open(wire: Wire): readonly Item[];
  /** The wire with other items in it; everything else in it stays. */
  close(wire: Wire, items: readonly Item[]): Wire;
  /** Reads one item; total. */
  read(item: Item): ItemContent<Value>;
  /** The items of a turn that an edit changed; `base` is the item that most of it came from. */
  write(draft: ItemDraft<Item, Value>): readonly Item[];
  /** The value of a changed or new part that is no call; undefined when the wire cannot hold it. */
  writePart(part: Exclude<Part, ToolPart>, source: Source<Value>): Value | undefined;
  /** The value of a changed or new call. */
  writeCall(part: ToolPart, source: Source<Value>): Value;
  /** The value of a changed or new result; the outcome is as the model is to see it. */
  writeResult(part: ToolPart, source: Source<Value>): Value;
  /** Whether all results of a turn stand in one item, or each in its own. */
  readonly results: "together" | "apart";
  /** Whether the system text stands apart, before all turns, or is a turn among the others, as when unset. */
  readonly system?: "apart" | "among";
  /** True when two turns of this role in a row have to be one. */
  merges(role: Role): boolean;
  /** Brings a turn in line with what the API demands of it: which hidden reasoning stays, which ids go. Hidden blocks leave by default. */
  normalizeTurn?(
    blocks: readonly PlacedBlock<Value>[],
    context: TurnContext<Wire>,
  ): readonly PlacedBlock<Value>[];
  /** Brings the whole in line with what the API demands, such as the number of cache marks; the same reference when it is. */
  normalizeItems?(items: readonly Item[], wire: Wire): readonly Item[];
  /** True when results may answer calls that the receiver holds and the wire does not. */
  continues?(wire: Wire): boolean;
}

export interface ItemContent<Value> {
  readonly role: Role;
  readonly blocks: readonly Block<Value>[];
}

/** One piece of an item. A call and its result are joined into one part by whoever reads the blocks. */
export type Block<Value> = PartBlock<Value> | CallBlock<Value> | ResultBlock<Value>;

interface BlockBase<Value> {
  readonly value: Value;
  /** The value without what its API refuses, such as a mark where none may stand; unset when nothing is wrong. */
  readonly repaired?: Value | undefined;
}

interface PartBlock<Value> extends BlockBase<Value> {
  readonly type: "part";
  readonly part: Exclude<Part, ToolPart>;
}

export interface CallBlock<Value> extends BlockBase<Value> {
  readonly type: "call";
  /** Unset where the wire gives none: its result is then found by its tool and its place. */
  readonly callId?: CallId | undefined;
  readonly tool: string;
  readonly input: unknown;
}

export interface ResultBlock<Value> extends BlockBase<Value> {
  readonly type: "result";
  readonly callId?: CallId | undefined;
  readonly tool?: string | undefined;
  readonly outcome: ToolOutcome;
}

/** What an edited part was before, if it was. */
export interface Source<Value> {
  readonly role: Role;
  readonly before?: Part;
  readonly value?: Value;
  /** On a result: the value of its call. */
  readonly call?: Value;
}

export interface ItemDraft<Item, Value> {
  readonly role: Role;
  readonly base?: Item;
  readonly blocks: readonly PlacedBlock<Value>[];
}

/** A block on its way back to the wire. */
export interface PlacedBlock<Value> {
  readonly half: "whole" | "call" | "result";
  readonly part: Part;
  readonly value: Value;
  /** The item it came from, and its place in it. */
  readonly item?: number;
  readonly index?: number;
  /** Set when the value is not the one that stands there. */
  readonly changed?: true;
  /** Set on reasoning that an edit hid: only the API's own rule can keep it. */
  readonly hidden?: true;
}

export interface TurnContext<Wire> {
  readonly wire: Wire;
  readonly role: Role;
  /** True for the newest turn of the assistant. */
  readonly isLast: boolean;
}
