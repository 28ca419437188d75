import { repairPairing } from "../../stages/repair.ts";
import { tryJson } from "../../text/json.ts";
import { isObject } from "../../text/unknown-value.ts";
import { filePlaceholder } from "../../transcript/content.ts";
import { applyEdits } from "../../transcript/edit.ts";
import {
  createCallNamer,
  type Message,
  project,
  type Role,
  reachesModel,
  type Transcript,
  withUniqueIds,
} from "../../transcript/message.ts";
import type { FilePart, Part } from "../../transcript/part.ts";
import { safeCallId } from "../content/call-ids.ts";
import { isSameFile } from "../content/foreign-parts.ts";
import type { BlockAdapter, PlacedBlock } from "./block-adapter.ts";
import type { PartOrigin, Reading } from "./read-blocks.ts";
import { writeBlocks } from "./write-blocks.ts";

/**
 * The wire of a whole transcript, which need not come from a wire: hidden content is left out, the roles are those that
 * the API knows, every call has its result, and the user speaks first and last. `request` is the rest of the request.
 */
export function encodeBlocks<Wire, Item, Value>(
  transcript: Transcript,
  { adapter, sources, request }: EncodeInput<Wire, Item, Value>,
): Wire {
  const { encoding } = adapter;
  const wire = (encoding.list === undefined ? [] : { ...request, [encoding.list]: [] }) as Wire;
  const called = repaired(nameCalls(splitTurns(project(transcript), sources), encoding));
  const sendable = called.flatMap((message) => findOrigins(message, adapter, sources));
  const messages = repaired(
    sendable.map(({ message }) => message),
    "user",
  );
  const known = new Map(sendable.map((found) => [found.message, found]));
  const all = messages.flatMap((message) => known.get(message) ?? findOrigins(message, adapter, sources));
  const reading: Reading<Item, Value> = {
    items: [],
    contents: [],
    transcript: all.map(({ before }) => before),
    origins: all.map(({ origins }) => ({ item: -1, lastItem: -1, parts: origins })),
  };
  const written = writeBlocks({ adapter: encodingAdapter(adapter), wire, reading, messages });
  const { tidy = (item) => item } = encoding;
  const items = [...adapter.open(wire), ...written.map(tidy)];
  return adapter.close(wire, adapter.normalizeItems?.(items, adapter.close(wire, items)) ?? items);
}

interface EncodeInput<Wire, Item, Value> {
  readonly adapter: BlockAdapter<Wire, Item, Value>;
  readonly sources: Sources<Value>;
  /** Everything but the messages, where the wire is a request. */
  readonly request: object;
}

function encodingAdapter<Wire, Item, Value>(
  adapter: BlockAdapter<Wire, Item, Value>,
): BlockAdapter<Wire, Item, Value> {
  const { system } = adapter.encoding;
  return {
    ...adapter,
    ...(system !== undefined && { system }),
    merges: (role) => (adapter.merges(role) === "never" ? "never" : "always"),
  };
}

/** Where decoded parts were in their wire, for as long as they are referenced: a part is the key, or the input of a call. */
export interface Sources<Value> {
  remember(transcript: Transcript, reading: Reading<unknown, Value>): void;
  find(part: Part): DecodedPart<Value> | undefined;
}

interface DecodedPart<Value> {
  readonly part: Part;
  readonly origin: PartOrigin<Value>;
  /** All parts of its message. */
  readonly siblings: readonly Part[];
}

/**
 * Remembers the wire form of what was decoded. A transcript has no room for the bytes of an image or the signature of a
 * thought, so the same format sends the original again as long as the part is the same.
 */
export function createSources<Value>(): Sources<Value> {
  const places = new WeakMap<object, DecodedPart<Value>>();
  return {
    remember(transcript, { origins }) {
      for (const [messageIndex, { parts: siblings }] of transcript.entries()) {
        const placed = origins[messageIndex]?.parts ?? [];
        for (const [index, part] of siblings.entries()) {
          const origin = placed[index];
          if (origin === undefined) continue;
          const place = { part, origin, siblings };
          places.set(part, place);
          if (part.type === "tool" && isObject(part.input)) places.set(part.input, place);
        }
      }
    },

    find(part) {
      const known = places.get(part);
      if (known !== undefined || part.type !== "tool" || !isObject(part.input)) return known;
      const call = places.get(part.input);
      return call !== undefined && isSameCall(call.part, part) ? call : undefined;
    },
  };
}

function isSameCall(one: Part, other: Part): boolean {
  return one.type === "tool" && other.type === "tool" && one.tool === other.tool && one.input === other.input;
}

/**
 * The messages in the roles that every API knows: calls are the assistant's and a marker is the user's, wherever they
 * stand. What follows a call in its message came after the result, so it is a turn of its own, unless a wire had it so.
 */
function splitTurns(messages: Transcript, sources: Sources<unknown>): Transcript {
  const split = messages.flatMap((message) => {
    const role = knownRole(message.role);
    const parts = message.parts.filter(reachesModel);
    const siblings = parts[0] && sources.find(parts[0])?.siblings;
    const isOneTurn =
      siblings !== undefined && parts.every((part) => sources.find(part)?.siblings === siblings);
    const runs: { role: Role; parts: Part[] }[] = [];
    for (const part of parts) {
      const side = part.type === "tool" ? "assistant" : part.type === "compaction" ? "user" : role;
      const last = runs.at(-1);
      const isNext = part.type !== "tool" && last?.parts.at(-1)?.type === "tool" && !isOneTurn;
      if (last?.role === side && !isNext) last.parts.push(part);
      else runs.push({ role: side, parts: [part] });
    }
    const isWhole =
      runs.length === 1 && runs[0]?.role === message.role && parts.length === message.parts.length;
    return isWhole ? [message] : runs.map((run) => ({ ...message, ...run }));
  });
  return withUniqueIds(split);
}

function knownRole(role: Role): Role {
  if (role === "developer") return "system";
  return role === "system" || role === "assistant" ? role : "user";
}

/** What the repair of a request leaves to the model. That a part was irregular in its wire does not matter in a new one. */
function repaired(messages: Transcript, lastMessage: "any" | "user" = "any"): Transcript {
  const edits = repairPairing(messages, { lastMessage }).filter(
    ({ type, reason }) => reason !== "irregular" && (lastMessage === "user" || type !== "insert-message"),
  );
  return project(applyEdits(messages, edits, { at: 0 }));
}

type Limits = Pick<BlockAdapter<unknown, unknown, unknown>["encoding"], "maxCallIdChars" | "notInToolNames">;

/** Gives each call an id of its own, a name that the API takes, and an input that is an object. */
function nameCalls(messages: Transcript, { maxCallIdChars, notInToolNames }: Limits): Transcript {
  const nameCall = createCallNamer(maxCallIdChars);
  return messages.map((message) => {
    const parts = message.parts.map((part): Part => {
      if (part.type !== "tool" || part.callMissing) return part;
      const callId = nameCall(safeCallId(part.callId, maxCallIdChars));
      const tool = safeToolName(part.tool, notInToolNames);
      const input = objectInput(part.input);
      const isSame = callId === part.callId && tool === part.tool && input === part.input;
      return isSame ? part : { ...part, callId, tool, input };
    });
    return parts.every((part, index) => part === message.parts[index]) ? message : { ...message, parts };
  });
}

function safeToolName(tool: string, notInToolNames: RegExp): string {
  const name = tool.slice(0, MAX_TOOL_NAME_CHARS).replace(notInToolNames, "_");
  return name === "" ? "unknown" : name;
}

const MAX_TOOL_NAME_CHARS = 64;

/** Most APIs take only an object as input; one that is no JSON cannot be sent. */
function objectInput(input: unknown): unknown {
  if (input === undefined || input === null || tryJson(input) === undefined) return {};
  return isObject(input) ? input : { input };
}

/** A message that is sent, as `writeBlocks` takes it: what its parts were in a wire, or how they are written to one. */
interface Sendable<Value> {
  readonly message: Message;
  readonly before: Message;
  readonly origins: readonly PartOrigin<Value>[];
}

/** The message without the parts that the API has no form for; none where nothing but thoughts would be left. */
function findOrigins<Wire, Item, Value>(
  message: Message,
  adapter: BlockAdapter<Wire, Item, Value>,
  sources: Sources<Value>,
): readonly Sendable<Value>[] {
  const { role } = message;
  const kept: { part: Part; old: Part; origin: PartOrigin<Value> }[] = [];
  const decoded = message.parts.map((part) => (role === "system" ? undefined : sources.find(part)));
  const siblings = decoded.find((found) => found !== undefined)?.siblings ?? [];
  const isWhole =
    siblings.length === message.parts.length &&
    decoded.every((found, index) => found?.part === siblings[index]);
  for (const [index, part] of message.parts.entries()) {
    const found = decoded[index] && renamed(decoded[index], part, adapter);
    const source = found && sourceOrigin(found.origin, isWhole ? undefined : adapter);
    if (found !== undefined && source !== undefined)
      kept.push({ part: withFileNames(part, found.part), old: found.part, origin: source });
    else if (found === undefined || part.type !== "reasoning") {
      const origin = newOrigin(part, role, adapter);
      if (origin !== undefined) kept.push({ part: origin.main.part, old: origin.main.part, origin });
    }
  }
  if (kept.every(({ part }) => part.type === "reasoning")) return [];
  const isSame =
    kept.length === message.parts.length && kept.every(({ part }, index) => part === message.parts[index]);
  return [
    {
      message: isSame ? message : { ...message, parts: kept.map(({ part }) => part) },
      before: { ...message, parts: kept.map(({ old }) => old) },
      origins: kept.map(({ origin }) => origin),
    },
  ];
}

/** A decoded call under the id that it is sent with. */
function renamed<Wire, Item, Value>(
  decoded: DecodedPart<Value>,
  to: Part,
  adapter: BlockAdapter<Wire, Item, Value>,
): DecodedPart<Value> {
  const { part, origin } = decoded;
  if (part.type !== "tool" || to.type !== "tool" || part.callId === to.callId) return decoded;
  const withId = (block: PlacedBlock<Value>): PlacedBlock<Value> => ({
    ...block,
    value: adapter.renameCall(block.value, to.callId),
  });
  const main = withId(origin.main);
  return {
    ...decoded,
    part: { ...part, callId: to.callId },
    origin: origin.result === undefined ? { main } : { main, result: withId(origin.result) },
  };
}

/** A decoded part without its place, which says nothing about the new wire. */
function sourceOrigin<Wire, Item, Value>(
  { main, result }: PartOrigin<Value>,
  detachedBy: BlockAdapter<Wire, Item, Value> | undefined,
): PartOrigin<Value> | undefined {
  // A result without a call was left out by the repair.
  if (main.half === "result") return undefined;
  const value = detachedBy?.encoding.detach === undefined ? main.value : detachedBy.encoding.detach(main);
  if (value === undefined) return undefined;
  const { half, part, index } = main;
  return {
    main: { half, part, value, ...(index !== undefined && { index }) },
    ...(result !== undefined && { result: { half: "result", part: result.part, value: result.value } }),
  };
}

/** How a part is written that no wire of this API has held; undefined where it has no form for it. */
function newOrigin<Wire, Item, Value>(
  part: Part,
  role: Role,
  adapter: BlockAdapter<Wire, Item, Value>,
): PartOrigin<Value> | undefined {
  // Only the provider that signed a thought takes it.
  if (part.type === "reasoning") return undefined;
  if (part.type !== "tool") {
    const value = adapter.writePart(part, { role });
    return value === undefined ? undefined : { main: { half: "whole", part, value } };
  }
  const shown = withFileNames(part);
  const call = adapter.writeCall(shown, { role });
  const main: PlacedBlock<Value> = { half: "call", part: shown, value: call };
  return { main, result: { half: "result", part: shown, value: adapter.writeResult(shown, { role, call }) } };
}

/** The part with the names of those attachments in its output that no wire of this API has held and that cannot be sent. */
function withFileNames<Given extends Part>(part: Given, decoded?: Part): Given {
  if (part.type !== "tool" || part.outcome.status !== "done") return part;
  const { output, attachments } = part.outcome;
  const known = attachmentsOf(decoded);
  const isKnown = (file: FilePart): boolean => known.some((each) => isSameFile(each, file));
  const unknown = attachments.filter((file) => !isKnown(file));
  if (unknown.length === 0) return part;
  const lines = [...(output.trim() === "" ? [] : [output]), ...unknown.map(filePlaceholder)];
  const kept = attachments.filter(isKnown);
  return { ...part, outcome: { ...part.outcome, output: lines.join("\n"), attachments: kept } };
}

function attachmentsOf(part: Part | undefined): readonly FilePart[] {
  return part?.type === "tool" && part.outcome.status === "done" ? part.outcome.attachments : [];
}
