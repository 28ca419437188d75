import { safeJson } from "../../text/json.ts";
import {
  isVisibleToModel,
  type Message,
  type MessageId,
  type Role,
  reachesModel,
  shownOutcome,
  type Transcript,
} from "../../transcript/message.ts";
import type { FilePart, Part, ToolOutcome, ToolPart } from "../../transcript/part.ts";
import { isSameFile } from "../content/foreign-parts.ts";
import type { BlockAdapter, PlacedBlock, Source, TurnContext } from "./block-adapter.ts";
import type { MessageOrigin, PartOrigin, Reading } from "./read-blocks.ts";

/**
 * The items of some messages: results right behind the turn that called, turns that have to be one in one item.
 * An item of which nothing changed is the same reference.
 */
export function writeBlocks<Wire, Item, Value>({
  adapter,
  wire,
  reading,
  messages,
}: WriteInput<Wire, Item, Value>): readonly Item[] {
  const indexes = new Map<MessageId, number>();
  for (const [index, { id }] of reading.transcript.entries()) indexes.set(id, index);
  const turns: Turn<Value>[] = [];
  for (const message of messages) {
    if (!isVisibleToModel(message)) continue;
    const index = indexes.get(message.id) ?? -1;
    pushTurns(turns, {
      adapter,
      message,
      before: reading.transcript[index],
      origin: reading.origins[index],
    });
  }
  const merged = mergeTurns(adapter.system === "apart" ? systemFirst(turns) : turns, adapter);
  const last = merged.findLastIndex(({ role }) => role === "assistant");
  const question = merged.findLastIndex(isQuestion);
  return merged.flatMap(({ role, blocks, emptyItem }, index) => {
    if (emptyItem !== undefined) return itemsAt(reading, emptyItem);
    const normalized = normalizeTurn(adapter, blocks, {
      wire,
      role,
      isLast: index === last,
      isInLoop: index > question,
    });
    const whole = wholeItem(normalized, reading);
    if (whole !== undefined) return itemsAt(reading, whole);
    if (normalized.length === 0) return [];
    const base = normalized.find(
      ({ item }) => item !== undefined && reading.contents[item]?.role === role,
    )?.item;
    return adapter.write({
      role,
      blocks: normalized,
      ...(base !== undefined && { base: reading.items[base] as Item }),
    });
  });
}

interface WriteInput<Wire, Item, Value> {
  readonly adapter: BlockAdapter<Wire, Item, Value>;
  readonly wire: Wire;
  readonly reading: Reading<Item, Value>;
  /** The messages to write, edited or not. */
  readonly messages: Transcript;
}

/** Consecutive blocks of one role. */
interface Turn<Value> {
  readonly role: Role;
  readonly blocks: readonly PlacedBlock<Value>[];
  /** The item of a message in which there is nothing. */
  readonly emptyItem?: number;
}

function isQuestion({ role, blocks }: Turn<unknown>): boolean {
  return role === "user" && blocks.some(({ part }) => part.type !== "tool");
}

interface TurnSubject<Wire, Item, Value> {
  readonly adapter: BlockAdapter<Wire, Item, Value>;
  readonly message: Message;
  readonly before: Message | undefined;
  readonly origin: MessageOrigin<Value> | undefined;
}

function pushTurns<Wire, Item, Value>(
  turns: Turn<Value>[],
  { adapter, message, before, origin }: TurnSubject<Wire, Item, Value>,
): void {
  const { role, parts } = message;
  if (parts.length === 0) {
    if (origin !== undefined) turns.push({ role, blocks: [], emptyItem: origin.item });
    return;
  }
  const main: PlacedBlock<Value>[] = [];
  const results: PlacedBlock<Value>[] = [];
  for (const [index, part] of parts.entries()) {
    const from = origin?.parts[index];
    const old = before?.parts[index];
    if (from !== undefined && part === old) {
      main.push(from.main);
      if (from.result !== undefined) results.push(from.result);
    } else if (reachesModel(part)) {
      writePart({ adapter, role, part, old, from, main, results });
    } else if (part.type === "reasoning" && part.stale !== true && from !== undefined) {
      main.push({ ...from.main, hidden: true });
    }
  }
  // Reasoning is not sent without the content produced from it.
  const isReasoningLeft = message !== before && main.every(({ part }) => part.type === "reasoning");
  const hadMore = before === undefined || before.parts.some((part) => part.type !== "reasoning");
  if (main.length > 0 && !(isReasoningLeft && hadMore)) turns.push({ role, blocks: main });
  if (results.length === 0) return;
  const inOrder = results.length === 1 ? results : results.toSorted(byPlace);
  if (adapter.results === "together") turns.push({ role: "user", blocks: inOrder });
  else for (const result of inOrder) turns.push({ role: "user", blocks: [result] });
}

/** Results keep the order of the wire, which need not be that of their calls; new ones come last. */
function byPlace(one: PlacedBlock<unknown>, other: PlacedBlock<unknown>): number {
  const byItem = (one.item ?? Number.MAX_SAFE_INTEGER) - (other.item ?? Number.MAX_SAFE_INTEGER);
  return byItem !== 0 ? byItem : (one.index ?? 0) - (other.index ?? 0);
}

function systemFirst<Value>(turns: readonly Turn<Value>[]): readonly Turn<Value>[] {
  const isInFront = turns.findLastIndex(({ role }) => role === "system") <= 0;
  if (isInFront) return turns;
  return [...turns.filter(({ role }) => role === "system"), ...turns.filter(({ role }) => role !== "system")];
}

function mergeTurns<Wire, Item, Value>(
  turns: readonly Turn<Value>[],
  adapter: BlockAdapter<Wire, Item, Value>,
): readonly Turn<Value>[] {
  const merged: Turn<Value>[] = [];
  let open: PlacedBlock<Value>[] = [];
  for (const turn of turns) {
    const last = merged.at(-1);
    const isOne =
      last !== undefined &&
      last.role === turn.role &&
      last.emptyItem === undefined &&
      turn.emptyItem === undefined &&
      !last.blocks.some(isBlockOfOurs) &&
      mustMerge(adapter.merges(turn.role), last.blocks.at(-1)?.item, turn.blocks[0]?.item);
    if (isOne) {
      for (const block of turn.blocks) open.push(block);
    } else {
      open = [...turn.blocks];
      merged.push({ ...turn, blocks: open });
    }
  }
  return merged;
}

/** What is kept behind a compaction that the provider made when asked stays as it was, in messages of its own. */
function isBlockOfOurs({ part }: PlacedBlock<unknown>): boolean {
  return part.type === "text" && part.block !== undefined;
}

/** Two turns of one item are one again; those of neighbouring items were sent like that. */
function mustMerge(
  how: "always" | "edited" | "never",
  item: number | undefined,
  next: number | undefined,
): boolean {
  if (item !== undefined && item === next) return true;
  return how === "always" || (how === "edited" && (item === undefined || next !== item + 1));
}

function normalizeTurn<Wire, Item, Value>(
  adapter: BlockAdapter<Wire, Item, Value>,
  blocks: readonly PlacedBlock<Value>[],
  context: TurnContext<Wire>,
): readonly PlacedBlock<Value>[] {
  if (adapter.normalizeTurn !== undefined) return adapter.normalizeTurn(blocks, context);
  return blocks.some(({ hidden }) => hidden) ? blocks.filter(({ hidden }) => hidden !== true) : blocks;
}

/** The item that consists of exactly these blocks, unchanged; undefined if there is none. */
function wholeItem<Value>(
  blocks: readonly PlacedBlock<Value>[],
  { contents }: Reading<unknown, Value>,
): number | undefined {
  const item = blocks[0]?.item;
  if (item === undefined || contents[item]?.blocks.length !== blocks.length) return undefined;
  const isSame = (block: PlacedBlock<Value>, index: number) =>
    block.item === item && block.index === index && block.changed === undefined;
  return blocks.every(isSame) ? item : undefined;
}

function itemsAt<Item>({ items }: Reading<Item, unknown>, index: number): readonly Item[] {
  return items.slice(index, index + 1);
}

/** Writes an edited part: a half that did not change keeps its old block, the other is written anew. */
function writePart<Wire, Item, Value>({
  adapter,
  role,
  part,
  old,
  from,
  main,
  results,
}: PartSubject<Wire, Item, Value>): void {
  if (part.type !== "tool") {
    if (from !== undefined && isSamePart(part, old)) {
      main.push({ ...from.main, part });
      return;
    }
    const value = adapter.writePart(
      part,
      sourceOf(role, old?.type === part.type ? from?.main : undefined, old),
    );
    if (value !== undefined) main.push({ half: "whole", part, value, ...positionOf(from?.main) });
    return;
  }
  const oldCall = old?.type === "tool" ? old : undefined;
  const isLoose = oldCall !== undefined && from?.main.half === "result";
  const shown = part.clearedAt === undefined ? part : { ...part, outcome: shownOutcome(part) };
  const oldMain = oldCall === undefined ? undefined : from?.main;
  if (!isLoose && !part.callMissing) {
    const isSame = oldMain !== undefined && isSameCall(part, oldCall);
    main.push(
      isSame
        ? { ...oldMain, part }
        : {
            half: "call",
            part,
            value: adapter.writeCall(part, sourceOf(role, oldMain, old)),
            ...positionOf(from?.main),
          },
    );
  }
  if (shown.outcome.status === "pending") return;
  const oldResult = isLoose ? oldMain : from?.result;
  const isSame = oldResult !== undefined && isSameOutcome(shown.outcome, oldCall?.outcome);
  const result: PlacedBlock<Value> = isSame
    ? { ...oldResult, part }
    : {
        half: "result",
        part,
        value: adapter.writeResult(shown, {
          ...sourceOf(role, oldResult, old),
          ...(!isLoose && oldMain !== undefined && { call: oldMain.value }),
        }),
        ...positionOf(oldResult),
      };
  // A result without a call stays where it was.
  (isLoose || part.callMissing ? main : results).push(result);
}

interface PartSubject<Wire, Item, Value> {
  readonly adapter: BlockAdapter<Wire, Item, Value>;
  readonly role: Role;
  readonly part: Part;
  readonly old: Part | undefined;
  readonly from: PartOrigin<Value> | undefined;
  /** Where its blocks go: those of its turn, and the results behind it. */
  readonly main: PlacedBlock<Value>[];
  readonly results: PlacedBlock<Value>[];
}

function sourceOf<Value>(
  role: Role,
  placed: PlacedBlock<Value> | undefined,
  before: Part | undefined,
): Source<Value> {
  if (placed === undefined || before === undefined) return { role };
  return { role, before, value: placed.value };
}

/** The position of a block that was changed. */
function positionOf(
  placed: PlacedBlock<unknown> | undefined,
): Pick<PlacedBlock<unknown>, "item" | "index" | "changed"> {
  if (placed?.item === undefined || placed.index === undefined) return {};
  return { item: placed.item, index: placed.index, changed: true };
}

function isSamePart(part: Part, old: Part | undefined): boolean {
  if (old === undefined || part.type !== old.type || part.providerBlock !== old.providerBlock) return false;
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text === (old as typeof part).text;
    case "file":
      return isSameFile(part, old as FilePart);
    default:
      return true;
  }
}

function isSameCall(part: ToolPart, old: ToolPart | undefined): boolean {
  return (
    old !== undefined &&
    part.callId === old.callId &&
    part.tool === old.tool &&
    (part.input === old.input || safeJson(part.input) === safeJson(old.input))
  );
}

function isSameOutcome(outcome: ToolOutcome, old: ToolOutcome | undefined): boolean {
  if (outcome.status === "done" && old?.status === "done") {
    return (
      outcome.output === old.output &&
      outcome.attachments.length === old.attachments.length &&
      outcome.attachments.every((file, index) => isSameFile(file, old.attachments[index]))
    );
  }
  return outcome.status === "failed" && old?.status === "failed" && outcome.error === old.error;
}
