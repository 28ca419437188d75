import type { CallId } from "../../transcript/ids.ts";
import { type Fields, fields, stringField } from "../fields.ts";
import type { ResponsesItem, ResponsesWire } from "./openai-responses-wire.ts";
import { isCall, isOutput, responsesItems } from "./read-openai-responses-wire.ts";

/** What the model gave in one go, or one item of anybody else. */
export interface ResponsesRun {
  readonly items: readonly Fields[];
  /** Set when it is the request's `instructions` and not in its input. */
  readonly isInstructions?: true;
  /** The calls that the server keeps and an item only names, by that item. */
  readonly keptCalls?: ReadonlyMap<Fields, CallId>;
}

/** The runs of a wire, its instructions first. */
export function runsOf(wire: ResponsesWire): readonly ResponsesRun[] {
  const items = responsesItems(wire).map(fields);
  const keptCalls = findKeptCalls(items);
  const runs: { items: Fields[] }[] = [];
  let isOpen = false;
  for (const item of items) {
    const isModels = isMadeByModel(item);
    if (isModels && isOpen) runs.at(-1)?.items.push(item);
    else runs.push({ items: [item] });
    isOpen = isModels;
  }
  const all = keptCalls.size === 0 ? runs : runs.map((run) => ({ ...run, keptCalls }));
  const { instructions } = Array.isArray(wire) ? {} : fields(wire);
  if (instructions === undefined || instructions === null) return all;
  return [{ items: [{ role: "system", content: instructions }], isInstructions: true }, ...all];
}

/** The wire with other runs in it. */
export function withRuns(wire: ResponsesWire, runs: readonly ResponsesRun[]): ResponsesWire {
  const input = runs.flatMap(({ items, isInstructions }) => (isInstructions ? [] : items)) as ResponsesItem[];
  if (Array.isArray(wire) || typeof wire !== "object" || wire === null) return input;
  const { instructions: _, ...request } = wire as Exclude<ResponsesWire, readonly unknown[]>;
  const kept = runs.find(({ isInstructions }) => isInstructions)?.items[0];
  return kept === undefined ? { ...request, input } : { ...wire, instructions: kept.content, input };
}

/** True when results may answer calls that the server keeps. */
export function continuesEarlier(wire: ResponsesWire): boolean {
  const { previous_response_id: previous, conversation } = fields(wire);
  return Boolean(previous ?? conversation);
}

function isMadeByModel({ type, role }: Fields): boolean {
  if (type === "message" || type === undefined) return role === "assistant";
  return !isOutput(type) && !NOT_THE_MODELS.includes(type);
}

const NOT_THE_MODELS: readonly unknown[] = ["compaction", "mcp_approval_response"];

/** An output whose call is not in the wire answers the oldest call before it that is only named. */
function findKeptCalls(items: readonly Fields[]): ReadonlyMap<Fields, CallId> {
  const kept = new Map<Fields, CallId>();
  const known = new Set<unknown>();
  let named: Fields[] = [];
  let taken = 0;
  for (const item of items) {
    if (isCall(item.type)) known.add(item.call_id);
    if (item.type === "item_reference" && isCallName(item.id)) named.push(item);
    else if (isOutput(item.type) && !known.has(item.call_id)) {
      const callId = stringField(item.call_id);
      const call = named[taken++];
      if (call !== undefined && callId !== undefined) kept.set(call, callId);
    } else if (item.role === "user") {
      named = [];
      taken = 0;
    }
  }
  return kept;
}

function isCallName(id: unknown): boolean {
  return typeof id === "string" && /^(?:fc|ctc)_/.test(id);
}
