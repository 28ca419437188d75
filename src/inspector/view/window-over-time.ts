import { filterCompacted, findCompletedCompaction } from "../../stages/boundary.ts";
import { reportsContextUsage, usageTotalTokens } from "../../transcript/estimate-context.ts";
import { isAnswer, isVisibleToModel, type Message, type Transcript } from "../../transcript/message.ts";
import { kindOf, noKinds, scaleKinds, scaleOf, totalOf } from "./kinds.ts";
import type { RecordedRows } from "./recorded-rows.ts";
import type { CompactionMoment, ItemRow, KindTokens, WindowOverTime, WindowPoint } from "./types.ts";

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
