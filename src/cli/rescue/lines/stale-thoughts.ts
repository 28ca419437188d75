import { ownEdits } from "../../../formats/files/pi/branch.ts";
import { liveLines, shownLines } from "../../../formats/files/pi/read-pi-lines.ts";
import { modelFacts } from "../../../models/model-facts.ts";
import { editsInForce } from "../../../plugin/stores/edits-in-force.ts";
import type { PluginEntry } from "../../../plugin/stores/journal.ts";
import { filterCompacted } from "../../../stages/boundary.ts";
import { plural } from "../../../text/format-number.ts";
import { safeJson } from "../../../text/json.ts";
import { asArray, asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import { isAnswer, type Transcript } from "../../../transcript/message.ts";
import type { Finding, KeptLine } from "./session-lines.ts";

/*
 * Earlier versions did not know that newest models bind a thought to everything before it: they edited what stood before
 * thoughts, and kept these. Such a session is refused at every request, since the edit is stored.
 */

/**
 * Thoughts of a session of pi that were made behind something else than what pi sends before them now, since an edit or a
 * compaction of ours came later. Where the model has answered since, its provider does not mind.
 */
export function staleThoughtsOfPi(kept: readonly KeptLine[]): readonly Finding[] {
  const values = kept.map(({ value }) => asObject(value));
  const isLive = liveLines(values);
  const branch = kept.filter((_, index) => isLive[index]);
  const entries = branch.map(({ value }) => asObject(value));
  const shown = shownLines(entries).map(asObject);
  const changes = changesOf(entries);
  if (changes.length === 0) return [];
  const stale = shown.flatMap((entry, place) => {
    const thoughts = boundThoughtsIn(entry);
    const isStale = changes.some((change) => isMadeBefore(place, change));
    return thoughts === 0 || !isStale
      ? []
      : [{ place, thoughts, model: asString(asObject(entry.message).model) }];
  });
  const [first] = stale;
  if (first === undefined) return [];
  const lastChange = Math.max(...changes.flatMap(({ versions }) => versions.map(({ from }) => from)));
  const isTaken = entries.slice(lastChange + 1).some(isGoodAnswer);
  return [
    finding({
      thoughts: stale.reduce((sum, { thoughts }) => sum + thoughts, 0),
      model: first.model ?? "its model",
      isTaken,
      line: branch[first.place]?.lineNumber,
    }),
  ];
}

/** What stood in one place of a conversation over time. */
interface Change {
  readonly place: number;
  /** Each from an entry on, the oldest first; thoughts do not count. */
  readonly versions: readonly { readonly from: number; readonly text: string }[];
}

/** True where a thought was made behind another version than the one in force now. */
function isMadeBefore(thought: number, { place, versions }: Change): boolean {
  if (thought <= place) return false;
  const then = versions.findLast(({ from }) => from < thought);
  return then !== undefined && then.text !== versions.at(-1)?.text;
}

function changesOf(entries: readonly UnknownObject[]): readonly Change[] {
  const placeOf = new Map(entries.map(({ id }, index) => [id, index]));
  const compaction = entries.findLastIndex(({ type }) => type === "compaction");
  const summary = entries[compaction];
  const firstKept = placeOf.get(summary?.firstKeptEntryId) ?? compaction;
  const start = summary === undefined ? 0 : Math.min(firstKept, compaction);
  const changes = new Map<number, Change>();
  for (const edit of ownEdits(entries)) {
    const place = placeOf.get(edit.targetId) ?? -1;
    const target = entries[place];
    if (target === undefined || place < start) continue;
    const before = changes.get(place)?.versions ?? [
      { from: place - 1, text: textWithoutThoughts(target.message) },
    ];
    const version = { from: entries.indexOf(edit), text: textWithoutThoughts(edit.replacement) };
    changes.set(place, { place, versions: [...before, version] });
  }
  const isOurs = summary?.fromHook === true && start < compaction;
  const summed = {
    place: start,
    versions: [
      { from: -1, text: "" },
      { from: compaction, text: "summary" },
    ],
  };
  return [...changes.values(), ...(isOurs ? [summed] : [])];
}

function textWithoutThoughts(message: unknown): string {
  const { content } = asObject(message);
  if (!Array.isArray(content)) return safeJson(content ?? null);
  return safeJson(content.filter((block) => asObject(block).type !== "thinking"));
}

function boundThoughtsIn({ type, message }: UnknownObject): number {
  const { role, provider, model, content } = asObject(message);
  if (type !== "message" || role !== "assistant") return 0;
  const facts = modelFacts({ provider: asString(provider) ?? "", id: asString(model) ?? "" });
  if (facts.afterEdit !== "refused") return 0;
  return asArray(content).filter((block) => asObject(block).type === "thinking").length;
}

function isGoodAnswer({ type, message }: UnknownObject): boolean {
  const { role, errorMessage, stopReason } = asObject(message);
  const hasFailed = errorMessage !== undefined || stopReason === "error" || stopReason === "aborted";
  return type === "message" && role === "assistant" && !hasFailed;
}

/**
 * Thoughts of a session of OpenCode in which the plugin has edits in force, and never noted what thoughts are bound to:
 * those from before an edit stand behind it, and without the plugin those that were made since stand behind what it hid.
 */
export function staleThoughtsOfOpenCode(
  transcript: Transcript,
  entries: readonly PluginEntry[],
): readonly Finding[] {
  const edits = editsInForce(entries);
  if (edits.length === 0 || entries.some(({ type }) => type === "thoughts")) return [];
  const bound = filterCompacted(transcript).filter(
    ({ model, parts }) =>
      model !== undefined &&
      modelFacts(model).afterEdit === "refused" &&
      parts.some(({ type }) => type === "reasoning"),
  );
  const [first] = bound;
  if (first === undefined) return [];
  const newestMs = Math.max(...edits.map(({ atMs }) => atMs));
  const isTaken = transcript.some(
    (message) =>
      isAnswer(message) &&
      (message.createdAt ?? 0) > newestMs &&
      message.error === undefined &&
      message.parts.length > 0,
  );
  const thoughts = bound.flatMap(({ parts }) => parts.filter(({ type }) => type === "reasoning")).length;
  return [finding({ thoughts, model: first.model?.id ?? "its model", isTaken, line: undefined })];
}

interface StaleThoughts {
  readonly thoughts: number;
  readonly model: string;
  /** The model has answered since. */
  readonly isTaken: boolean;
  readonly line: number | undefined;
}

function finding({ thoughts, model, isTaken, line }: StaleThoughts): Finding {
  const stand = `${plural(thoughts, "thought")} of ${model} ${thoughts === 1 ? "stands" : "stand"} behind what an earlier version of Carryover edited`;
  const text = isTaken
    ? `${stand}; the provider took that so far`
    : `${stand}, which its provider refuses; where Carryover runs, its plugin of this version leaves such thoughts out by itself`;
  return {
    problem: "stale-thoughts",
    severity: isTaken ? "note" : "broken",
    text,
    ...(line !== undefined && { line }),
  };
}
