import type { Role } from "../../transcript/message.ts";
import type { CallId, MessageId, Part, ToolOutcome, ToolPart } from "../../transcript/part.ts";

/**
 * How one API writes a conversation, for `createBlockFormat`: how its items are read into blocks and written from them.
 * An item is one turn of the wire (a message, a content, a run of output items); a value is the wire form of one block.
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
  /** The value of a call or a result under another call id; the same reference where the wire has no place for one. */
  renameCall(value: Value, callId: CallId): Value;
  /** Whether all results of a turn are in one item, or each in its own. */
  readonly results: "together" | "apart";
  /** Whether the system text is apart, before all turns, or a turn among the others (the default). */
  readonly system?: "apart" | "among";
  /** When two turns of this role in a row become one: always, only where an edit made them neighbours, or never. */
  merges(role: Role): "always" | "edited" | "never";
  /** Adapts a turn to the rules of the API: which hidden reasoning stays, which ids are removed. By default hidden blocks are dropped. */
  normalizeTurn?(
    blocks: readonly PlacedBlock<Value>[],
    context: TurnContext<Wire>,
  ): readonly PlacedBlock<Value>[];
  /** Adapts the whole wire to the rules of the API, such as the number of cache marks; the same reference when nothing changed. */
  normalizeItems?(items: readonly Item[], wire: Wire): readonly Item[];
  /** True when results may answer calls that are stored at the provider and not in the wire. */
  continues?(wire: Wire): boolean;
  /** How a whole transcript is written to a new wire. */
  readonly encoding: Encoding<Item, Value>;
}

/** What `encode` asks of an API beyond what an edit does. */
export interface Encoding<Item, Value> {
  /** The field of a request that holds its items; unset where the wire is the list itself. */
  readonly list?: string;
  /** Where the system text goes, if not where `system` says. */
  readonly system?: "apart";
  /** The longest call id that the API takes. */
  readonly maxCallIdChars: number;
  /** A character that no name of a tool may have. */
  readonly notInToolNames: RegExp;
  /** An item in the form that most servers of the API take. */
  tidy?(item: Item): Item;
  /** The value of a block out of a message of which only some blocks are sent: without what refers to the others; undefined when it cannot stand alone. */
  detach?(block: PlacedBlock<Value>): Value | undefined;
}

export interface ItemContent<Value> {
  readonly role: Role;
  /** Its own name, where the wire gives one; otherwise a name is made of its place and content. */
  readonly id?: MessageId;
  readonly blocks: readonly Block<Value>[];
}

/** One piece of an item. `readBlocks` joins a call and its result into one part. */
export type Block<Value> = PartBlock<Value> | CallBlock<Value> | ResultBlock<Value>;

interface BlockBase<Value> {
  readonly value: Value;
  /** The value without what the API would refuse, such as a cache mark on thinking; unset when nothing is wrong. */
  readonly repaired?: Value | undefined;
}

interface PartBlock<Value> extends BlockBase<Value> {
  readonly type: "part";
  /** The id of a call before it in the same item that it speaks of: where the call gets another, so does it. */
  readonly ofCall?: CallId;
  readonly part: Exclude<Part, ToolPart>;
}

export interface CallBlock<Value> extends BlockBase<Value> {
  readonly type: "call";
  /** Unset or empty where the wire gives none: its result is then found by tool and order. */
  readonly callId?: CallId | undefined;
  readonly tool: string;
  readonly input: unknown;
  /** Set where the provider signed this call for all calls of its step. */
  readonly isSigned?: boolean;
}

export interface ResultBlock<Value> extends BlockBase<Value> {
  readonly type: "result";
  readonly callId?: CallId | undefined;
  readonly tool?: string | undefined;
  readonly outcome: ToolOutcome;
}

/** What an edited part was before; empty for a new one. */
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

/** A block to be written to the wire. */
export interface PlacedBlock<Value> {
  readonly half: "whole" | "call" | "result";
  readonly part: Part;
  readonly value: Value;
  /** The item it came from, and its index in it. */
  readonly item?: number;
  readonly index?: number;
  /** Set when the value differs from the one in the wire. */
  readonly changed?: true;
  /** Set on reasoning that an edit hid: it stays only if `normalizeTurn` keeps it. */
  readonly hidden?: true;
}

export interface TurnContext<Wire> {
  readonly wire: Wire;
  readonly role: Role;
  /** True for the newest turn of the assistant. */
  readonly isLast: boolean;
  /** True for what comes after the newest question: the calls and results of the tool loop that is going on. */
  readonly isInLoop: boolean;
}
