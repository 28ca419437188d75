import {
  asArray,
  asNumber,
  asObject,
  asString,
  isObject,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import type { PlacedLine } from "../../lines/line-format.ts";
import { ITEMS } from "./codex-line.ts";

/**
 * A compaction replaces the history by items of its own: texts that stand for what was, and perhaps answers and calls
 * that go on from there. Opened, such a line is several: the compaction with the texts, then a line for each item
 * behind them, so that calls are read and edited like any others. `closeHistories` puts them together again.
 */
export function openHistories(wire: unknown): readonly unknown[] {
  const lines = inOrder(asArray(wire));
  return lines.some((line) => leadingTexts(line) !== undefined) ? lines.flatMap(openLine) : lines;
}

/** Numbered lines in the order of their numbers, whatever the file did to it; one without a number stays behind the one before. */
function inOrder(lines: readonly unknown[]): readonly unknown[] {
  const numbers = lines.map((line) => asNumber(asObject(line).ordinal));
  const given = numbers.filter((number) => number !== undefined);
  const isOrdered = given.every((number, index) => index === 0 || number > (given[index - 1] ?? 0));
  if (isOrdered || new Set(given).size < given.length) return lines;
  let before = -1;
  const numbered = lines.map((line, index) => {
    before = numbers[index] ?? before;
    return { line, number: before };
  });
  return numbered.sort((one, other) => one.number - other.number).map(({ line }) => line);
}

/** The lines of a file, from those that were opened: one whose parts are untouched is the line that it was. */
export function closeHistories(placed: readonly PlacedLine[]): readonly unknown[] {
  const lines: unknown[] = [];
  for (let index = 0; index < placed.length; index++) {
    const line = placed[index]?.line;
    const origin = originOf(line);
    if (origin?.index !== 0) {
      lines.push(origin === undefined ? line : withoutOrigin(asObject(line)));
      continue;
    }
    const end = endOfHistory(placed, index, origin);
    lines.push(joined(placed.slice(index, end + 1).map((each) => each.line)));
    index = end;
  }
  return lines;
}

/** The compaction without what Codex notes of its items by their number, and repeats of them. */
export function withoutCopies(payload: UnknownObject): UnknownObject {
  const { replacement_history_metadata: _, retained_context: __, ...rest } = payload;
  return rest;
}

/** True for a line that was opened from a compaction, behind its texts. */
export function isReplacement(line: unknown): boolean {
  return (originOf(line)?.index ?? 0) > 0;
}

const ORIGIN = Symbol("replaced history");

/** Which line of the file a line was taken from. */
interface Origin {
  readonly owner: UnknownObject;
  /** 0 is the compaction with its texts. */
  readonly index: number;
  readonly count: number;
  /** The line as it was opened: another one has been edited. */
  line?: object;
}

function originOf(line: unknown): Origin | undefined {
  return (asObject(line) as { readonly [ORIGIN]?: Origin })[ORIGIN];
}

function withoutOrigin(line: UnknownObject): UnknownObject {
  const { [ORIGIN]: _, ...rest } = line as UnknownObject & { readonly [ORIGIN]?: Origin };
  return rest;
}

/** How many items stand before the first answer or call; undefined for a line that is not opened. */
function leadingTexts(line: unknown): number | undefined {
  const { type, payload } = asObject(line);
  const history = asObject(payload).replacement_history;
  if (type !== "compacted" || !Array.isArray(history)) return undefined;
  const count = history.map(asObject).findIndex(goesOn);
  return count === -1 ? undefined : count;
}

function goesOn({ type, role }: UnknownObject): boolean {
  return type === "message" ? role === "assistant" : ITEMS.has(asString(type) ?? "");
}

function openLine(line: unknown): readonly unknown[] {
  const texts = leadingTexts(line);
  if (texts === undefined) return [line];
  const owner = asObject(line);
  const payload = asObject(owner.payload);
  const history = asArray(payload.replacement_history);
  const notes = asObject(asObject(owner.carryover).history);
  const lead = { ...owner, payload: { ...payload, replacement_history: history.slice(0, texts) } };
  const items = history.slice(texts).map((item, index) =>
    omitUndefined({
      timestamp: owner.timestamp,
      type: "response_item",
      payload: item,
      carryover: isObject(notes[`${index}`]) ? notes[`${index}`] : undefined,
    }),
  );
  return [lead, ...items].map((opened, index, { length: count }) => {
    const origin: Origin = { owner, index, count };
    const linked = { ...opened, [ORIGIN]: origin };
    origin.line = linked;
    return linked;
  });
}

/** The last line that still belongs to a history; new items between its own are part of it. */
function endOfHistory(placed: readonly PlacedLine[], start: number, { owner }: Origin): number {
  let end = start;
  for (let index = start + 1; index < placed.length; index++) {
    const line = placed[index]?.line;
    const origin = originOf(line);
    if (origin?.owner === owner && origin.index > 0) end = index;
    else if (origin !== undefined || asObject(line).type !== "response_item") break;
  }
  return end;
}

function joined(lines: readonly unknown[]): unknown {
  const origin = originOf(lines[0]);
  const isUntouched =
    lines.length === origin?.count &&
    lines.every((line, index) => originOf(line)?.index === index && originOf(line)?.line === line);
  if (isUntouched) return origin.owner;
  const [lead, ...items] = lines.map((line) => withoutOrigin(asObject(line)));
  const payload = withoutCopies(asObject(lead?.payload));
  const history = [...asArray(payload.replacement_history), ...items.map((line) => line.payload)];
  const notes = Object.fromEntries(
    items.flatMap(({ carryover }, index) => (carryover === undefined ? [] : [[`${index}`, carryover]])),
  );
  const { history: _, ...rest } = asObject(lead?.carryover);
  const carryover = Object.keys(notes).length === 0 ? rest : { ...rest, history: notes };
  const { carryover: __, ...line } = lead ?? {};
  return {
    ...line,
    payload: { ...payload, replacement_history: history },
    ...(Object.keys(carryover).length > 0 && { carryover }),
  };
}
