import { plainMessages } from "../../eval/probe/history-text.ts";
import { createProbe, createScorer } from "../../eval/probe/next-use.ts";
import { filterCompacted, findCompletedCompaction } from "../../stages/boundary.ts";
import { fileAccess } from "../../stages/file-access.ts";
import { reportsContextUsage, usageTotalTokens } from "../../transcript/estimate-context.ts";
import {
  compactionPart,
  isAnswer,
  isVisibleToModel,
  type Message,
  type Transcript,
} from "../../transcript/message.ts";
import { partTexts, type RecordedRows } from "./recorded-rows.ts";
import type {
  CompactionMoment,
  ItemRow,
  KindTokens,
  LostContent,
  MessageRow,
  ShownSize,
  WindowOverTime,
  WindowPoint,
} from "./types.ts";

/**
 * How the window grew, request by request, and what filled it. How large it was is what the provider counted; what is in
 * it is told apart by estimates, which are fitted into that count.
 */
export function windowOverTime(transcript: Transcript, recorded: RecordedRows): WindowOverTime {
  const requests = readRequests(transcript, recorded);
  const systemTokens = systemTokensOf(requests);
  const points = requests.map(({ index, tokens, kinds, isCounted }): WindowPoint => {
    const fitted = isCounted ? fitKinds(kinds, { tokens, systemTokens }) : kinds;
    return { index, tokens, kinds: fitted, isCounted };
  });
  return { points, compactions: compactionsOf(transcript, points), systemTokens };
}

/** The kinds of what fills a window, from the bottom up. */
export const KINDS: readonly (keyof KindTokens)[] = [
  "system",
  "summary",
  "user",
  "agent",
  "reasoning",
  "tool input",
  "tool output",
  "other",
];

/** No tokens of any kind. */
function noKinds(): Record<keyof KindTokens, number> {
  return {
    system: 0,
    summary: 0,
    user: 0,
    agent: 0,
    reasoning: 0,
    "tool input": 0,
    "tool output": 0,
    other: 0,
  };
}

/** The kind under which an item is counted. */
export function kindOf({ kind }: Pick<ItemRow, "kind">): keyof KindTokens {
  return kind === "media" || kind === "marker" || kind === "unknown" ? "other" : kind;
}

/** Sums what is left of rows by kind. */
export function sumKinds(rows: readonly MessageRow[]): Record<keyof KindTokens, number> {
  const kinds = noKinds();
  for (const { items } of rows) for (const item of items) kinds[kindOf(item)] += item.keptTokens;
  return kinds;
}

/**
 * Fits estimates of what is in the messages into what the provider counted. Beside the messages there are system prompt
 * and tools; what is still missing then was never recorded, such as thinking.
 */
function fitKinds(
  estimated: KindTokens,
  { tokens, systemTokens }: { readonly tokens: number; readonly systemTokens: number },
): KindTokens {
  const messageTokens = totalOf(estimated);
  const scale = scaleOf(messageTokens, tokens - Math.min(systemTokens, tokens));
  return scaleKinds(estimated, { scale, systemTokens, outsideTokens: tokens - messageTokens * scale });
}

/** What estimates are multiplied with to be at most what was counted. */
export function scaleOf(estimatedTokens: number, countedTokens: number): number {
  return estimatedTokens === 0
    ? 1
    : Math.max(LEAST_SCALE, Math.min(MOST_SCALE, countedTokens / estimatedTokens));
}

/** How far estimates are trusted to be too small: what is beyond was not recorded. */
const MOST_SCALE = 1.15;
/** So that one can divide by it, where the provider counted nothing beyond system prompt and tools. */
const LEAST_SCALE = 1e-6;

/** The kinds of a window whose scale is known, with what is not in the messages. */
export function scaleKinds(
  estimated: KindTokens,
  { scale, outsideTokens, systemTokens }: KindScale,
): KindTokens {
  const kinds = noKinds();
  for (const kind of KINDS) kinds[kind] = estimated[kind] * scale;
  const system = Math.min(systemTokens, outsideTokens);
  kinds.system += system;
  kinds.other += Math.max(0, outsideTokens - system);
  return kinds;
}

interface KindScale extends Pick<ShownSize, "scale" | "outsideTokens"> {
  readonly systemTokens: number;
}

export function totalOf(kinds: KindTokens): number {
  let tokens = 0;
  for (const kind of KINDS) tokens += kinds[kind];
  return tokens;
}

interface Request extends WindowPoint {
  /** True for the first that was counted since the window began anew. */
  readonly isFirst: boolean;
}

/** The requests with what their messages are estimated to take, each with its answer. */
function readRequests(transcript: Transcript, recorded: RecordedRows): readonly Request[] {
  const hasCounts = transcript.some(reportsContextUsage);
  const requests: Request[] = [];
  let kinds = noKinds();
  let isFirst = true;
  for (const [index, message] of transcript.entries()) {
    if (!isVisibleToModel(message)) continue;
    const { items } = recorded.rowOf(message, index);
    if (isNewSummary(transcript, index)) {
      kinds = kindsAfter(transcript, index, recorded);
      isFirst = true;
      continue;
    }
    // The model had not seen the results of its own calls.
    addItems(kinds, items, ({ side }) => side !== "output");
    const isCounted = reportsContextUsage(message);
    if (isCounted || (!hasCounts && isAnswer(message))) {
      const tokens = isCounted ? usageTotalTokens(message.usage) : totalOf(kinds);
      requests.push({ index, tokens, kinds: { ...kinds }, isCounted, isFirst });
      isFirst = false;
    }
    addItems(kinds, items, ({ side }) => side === "output");
  }
  return requests;
}

function isNewSummary(transcript: Transcript, index: number): boolean {
  if (transcript[index]?.summary !== true) return false;
  return findCompletedCompaction(transcript.slice(0, index + 1))?.summaryIndex === index;
}

/** What a compaction left, by kind. */
function kindsAfter(
  transcript: Transcript,
  index: number,
  recorded: RecordedRows,
): Record<keyof KindTokens, number> {
  const places = new Map(transcript.slice(0, index + 1).map((message, at) => [message.id, at]));
  const kinds = noKinds();
  for (const message of filterCompacted(transcript.slice(0, index + 1)))
    addItems(kinds, recorded.rowOf(message, places.get(message.id) ?? 0).items, () => true);
  return kinds;
}

function addItems(
  kinds: Record<keyof KindTokens, number>,
  items: readonly ItemRow[],
  isWanted: (item: ItemRow) => boolean,
): void {
  for (const item of items) if (isWanted(item)) kinds[kindOf(item)] += item.tokens;
}

/**
 * What system prompt and tools take: the least that the provider counted beyond the messages where a window had just
 * begun, since estimates of little text are off by little.
 */
function systemTokensOf(requests: readonly Request[]): number {
  const outside = requests
    .filter(({ isFirst, isCounted }) => isFirst && isCounted)
    .map(({ tokens, kinds }) => tokens - totalOf(kinds))
    .filter((tokens) => tokens > 0);
  return outside.length === 0 ? 0 : Math.round(Math.min(...outside));
}

/** How many requests had a message in them, by its index: those after it, until a compaction took it out. */
export function requestsWith({ points, compactions }: WindowOverTime): (index: number) => number {
  const pointsUpTo = (index: number): number => {
    let [low, high] = [0, points.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((points[middle]?.index ?? 0) <= index) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return (index) => {
    const gone =
      compactions.find((compaction) => compaction.index > index)?.index ?? Number.POSITIVE_INFINITY;
    return pointsUpTo(gone) - pointsUpTo(index);
  };
}

/** The compactions that were made, with the sizes of the requests before and after. */
function compactionsOf(transcript: Transcript, points: readonly WindowPoint[]): readonly CompactionMoment[] {
  return transcript.flatMap((message: Message, index) => {
    if (!isNewSummary(transcript, index)) return [];
    const before = points.findLast((point) => point.index < index)?.tokens;
    const after = points.find((point) => point.index > index)?.tokens;
    return [
      {
        index,
        ...(message.createdAt !== undefined && { atMs: message.createdAt }),
        ...(before !== undefined && { tokensBefore: before }),
        ...(after !== undefined && { tokensAfter: after }),
      },
    ];
  });
}

/**
 * What each compaction of a session kept, and what was needed again: names, paths and lines that the next steps used
 * and that stood only in what it took away, and files that were read again.
 */
export function lostContent(
  transcript: Transcript,
  { compactions, workingDirectory }: LostOptions,
): readonly LostContent[] {
  return compactions.map((moment, at) => {
    const { index } = moment;
    const window = filterCompacted(transcript.slice(0, index)).filter((message) => !compactionPart(message));
    const kept = filterCompacted(transcript.slice(0, index + 1));
    const after = transcript.slice(index + 1, compactions[at + 1]?.index ?? transcript.length);
    const probe = createProbe([...window, ...after], {
      atIndex: window.length,
      steps: NEXT_STEPS,
      ...(workingDirectory !== undefined && { workingDirectory }),
    });
    const { mentioned } = createScorer(probe)(plainMessages(kept).join("\n"));
    const missing = probe.targets.filter((_, target) => !mentioned[target]);
    const keptIds = new Set(kept.map(({ id }) => id));
    return {
      ...moment,
      summary: textOf(transcript[index]),
      summarizedMessages: window.filter(({ id }) => !keptIds.has(id)).length,
      keptMessages: window.filter(({ id }) => keptIds.has(id)).length,
      neededCount: probe.targets.length,
      keptCount: probe.targets.length - missing.length,
      missing: missing
        .slice(0, MAX_MISSING)
        .map(({ identifier, class: kind }) => ({ name: identifier.slice(0, MAX_NAME_CHARS), kind })),
      readAgain: readAgain(window, after, index + 1),
    };
  });
}

interface LostOptions {
  readonly compactions: readonly CompactionMoment[];
  readonly workingDirectory?: string | undefined;
}

/** How far ahead is looked for what was needed. */
export const NEXT_STEPS = 20;
const MAX_MISSING = 100;
const MAX_NAME_CHARS = 200;

function textOf(message: Message | undefined): string {
  if (message === undefined) return "";
  return message.parts
    .flatMap((part) => partTexts(message, part, "recorded"))
    .map(({ text }) => text)
    .join("\n");
}

/** The first reads, after a compaction, of files that were read before it. */
function readAgain(before: Transcript, after: Transcript, firstIndex: number): LostContent["readAgain"] {
  const known = new Set(before.flatMap(pathsRead));
  const found = new Map<string, number>();
  for (const [at, message] of after.entries())
    for (const path of pathsRead(message))
      if (known.has(path) && !found.has(path)) found.set(path, firstIndex + at);
  return Array.from(found, ([path, index]) => ({ path, index }));
}

function pathsRead({ parts }: Message): readonly string[] {
  return parts.flatMap((part) => {
    const access = part.type === "tool" ? fileAccess(part) : undefined;
    return access?.type === "read" ? [access.path] : [];
  });
}
