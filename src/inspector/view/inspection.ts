import { createWindowMeasure } from "../../session/measure-window.ts";
import { type CacheProfile, cacheProfileFor } from "../../stages/cache-profiles.ts";
import { deepEqual } from "../../text/json.ts";
import { type TokenFamily, tokenFamilyOf } from "../../text/tokens/estimate-tokens.ts";
import { reportsContextUsage } from "../../transcript/estimate-context.ts";
import { isAnswer, type Message, type Transcript, withUniqueIds } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { itemTextOf, searchItems } from "./item-text.ts";
import { lostContent } from "./lost-content.ts";
import { clampBudget, type PolicyRun, policiesFor, runPolicy } from "./policies.ts";
import { previewCompaction, previewForks } from "./previews.ts";
import { createRecordedRows, isCompactionSummary, type RecordedRows } from "./recorded-rows.ts";
import type {
  CachedPrefix,
  InspectedSession,
  Inspection,
  MessageRow,
  PolicyId,
  PolicyInfo,
  ShownSize,
  WindowOptions,
  WindowOverTime,
  WindowView,
} from "./types.ts";
import { windowOverTime } from "./window-over-time.ts";
import {
  createWindowRows,
  createWindowTotals,
  insertedRows,
  type WindowRows,
  type WindowTotaller,
} from "./window-view.ts";

/**
 * Computes everything that the page shows about a session, with the engine itself. A policy is run on the messages up to
 * a moment (policies.ts); its edits become rows over the rows as recorded (recorded-rows.ts), and rows are summed up
 * (window-view.ts). Texts are measured once, and the last few runs are kept.
 */
export function createInspection(session: InspectedSession): Inspection {
  return inspectionOf(session, createCaches(familyOf(session)));
}

/** What stays valid when a session grows. */
interface Caches {
  readonly family: TokenFamily;
  readonly recorded: RecordedRows;
  readonly rows: Map<PolicyId, WindowRows>;
  readonly totals: WindowTotaller;
}

function createCaches(family: TokenFamily): Caches {
  return { family, recorded: createRecordedRows(family), rows: new Map(), totals: createWindowTotals() };
}

function inspectionOf(session: InspectedSession, caches: Caches): Inspection {
  const { recorded, family } = caches;
  const { tokensOf } = recorded;
  const { format, windowTokens, sessionId, batches } = session;
  const transcript = withUniqueIds(session.transcript);
  const transcriptUpTo = createPastTranscript(transcript);
  const policies = policiesFor({ windowTokens, ...sizeOf(transcript, recorded) });
  const runs = new Map<string, CachedRun>();
  const measure = createWindowMeasure();
  const sizes = new Map<number, RecordedSize>();
  let overTime: WindowOverTime | undefined;

  function clampUpTo(upTo: number = transcript.length): number {
    return Math.min(transcript.length, Math.max(0, Math.floor(upTo) || 0));
  }

  /** The time of the newest of these messages; infinite for all of them. */
  function timeOf(upTo: number): number {
    if (upTo >= transcript.length) return Number.POSITIVE_INFINITY;
    const dated = transcript.slice(0, upTo).findLast(({ createdAt }) => createdAt !== undefined);
    return dated?.createdAt ?? Number.NEGATIVE_INFINITY;
  }

  function normalizeOptions({ policy, budget, upTo }: WindowOptions): NormalOptions {
    const info = policies.find(({ id }) => id === policy) ?? (policies[0] as PolicyInfo);
    return {
      policy: info.id,
      upTo: clampUpTo(upTo),
      ...(info.budget && { budget: clampBudget(info.budget, budget) }),
    };
  }

  function runOf({ policy, budget, upTo }: NormalOptions): CachedRun {
    const key = `${policy}/${budget}/${upTo}`;
    const known = runs.get(key);
    if (known !== undefined) return known;
    const made: CachedRun = {
      run: runPolicy(transcriptUpTo(upTo), {
        policy,
        budget: budget ?? 0,
        format,
        windowTokens,
        ...(sessionId !== undefined && { sessionId }),
        ...(batches && { batches: batches.filter(({ at }) => at <= timeOf(upTo)) }),
      }),
    };
    const [oldest] = runs.keys();
    if (runs.size >= MAX_CACHED_RUNS && oldest !== undefined) runs.delete(oldest);
    runs.set(key, made);
    return made;
  }

  const cacheProfile = (): CacheProfile => cacheProfileFor({ id: modelOf(session) ?? "" });
  const sentAt = (upTo: number): Transcript => runOf({ policy: "as-sent", upTo }).run.left;

  /** The size that the recording tells, and what the rows of the request that was counted sum up to. */
  function recordedSize(upTo: number): RecordedSize {
    const known = sizes.get(upTo);
    if (known !== undefined) return known;
    const source = transcriptUpTo(upTo);
    const size = measure(source);
    const counted = size.source === "usage" ? source.findLast(reportsContextUsage) : undefined;
    // Edits that are newer than the count are not in it.
    const counting = (batches ?? []).filter(
      ({ at }) => counted !== undefined && at <= (counted.createdAt ?? at),
    );
    const run = runPolicy(source, { policy: "as-sent", budget: 0, format, windowTokens, batches: counting });
    const rowTokens = createWindowRows(recorded)(run).reduce((sum, { keptTokens }) => sum + keptTokens, 0);
    const insertedTokens = insertedRows(run, recorded).reduce((sum, { tokens }) => sum + tokens, 0);
    const made = { tokens: size.tokens, source: size.source, rowTokens: rowTokens + insertedTokens };
    sizes.set(upTo, made);
    return made;
  }

  function sizeOfView(upTo: number, tokensAfter: number): ShownSize {
    const { tokens, source, rowTokens } = recordedSize(upTo);
    const outside = source === "usage" ? Math.min(tokens, allTime().systemTokens) : 0;
    // Where estimates are larger than the count, what is left counts as much less as they do.
    const shownTokens =
      tokens - outside >= rowTokens
        ? tokens + tokensAfter - rowTokens
        : Math.round(outside + (tokens - outside) * (rowTokens === 0 ? 0 : tokensAfter / rowTokens));
    const outsideTokens = source === "usage" ? Math.max(0, shownTokens - tokensAfter) : 0;
    return { tokens: shownTokens, source, outsideTokens };
  }

  function viewOf(options: NormalOptions, run: PolicyRun): WindowView {
    const rowsOf = caches.rows.get(options.policy) ?? createWindowRows(recorded);
    caches.rows.set(options.policy, rowsOf);
    const rows = rowsOf(run);
    const inserted = insertedRows(run, recorded);
    const totals = caches.totals(options.policy, rows, inserted);
    return {
      ...options,
      size: sizeOfView(options.upTo, totals.tokensAfter),
      rows,
      inserted,
      boundaries: run.source.flatMap((message, index) => (isCompactionSummary(message) ? [index] : [])),
      cachedPrefix: cachedPrefix(sentAt(lastRequestEnd(run.source)), run.left, rows),
      ...totals,
    };
  }

  function inspectWindow(options: WindowOptions): WindowView {
    const normal = normalizeOptions(options);
    const cached = runOf(normal);
    cached.view ??= viewOf(normal, cached.run);
    return cached.view;
  }

  function allTime(): WindowOverTime {
    overTime ??= windowOverTime(transcript, recorded);
    return overTime;
  }

  return {
    session,
    policies,
    inspectWindow,
    windowOverTime: allTime,
    lostContent() {
      const { compactions } = allTime();
      return lostContent(transcript, { compactions, workingDirectory: session.workingDirectory });
    },
    comparePolicies({ upTo }) {
      const now = inspectWindow({ policy: "as-sent", ...(upTo !== undefined && { upTo }) });
      return policies.map((policy) => {
        const view = inspectWindow({ policy: policy.id, ...(upTo !== undefined && { upTo }) });
        const { tokens } = view.size;
        return { ...policy, tokens, changeTokens: tokens - now.size.tokens };
      });
    },
    itemText: (options, place) => itemTextOf(runOf(normalizeOptions(options)).run, place),
    previewForks(options) {
      const upTo = clampUpTo(options.upTo);
      return previewForks(
        {
          recorded: transcriptUpTo(upTo),
          sent: sentAt(upTo),
          family,
          profile: cacheProfile(),
          tokensOf,
          ...(session.windowKnown && { windowTokens }),
          ...(sessionId !== undefined && { sessionId }),
        },
        options,
      );
    },
    previewCompaction(options = {}) {
      const past = transcriptUpTo(clampUpTo(options.upTo));
      return previewCompaction(
        { recorded: past, format, windowTokens, profile: cacheProfile(), tokensOf },
        options,
      );
    },
    search: (query) => (query.trim() === "" ? [] : searchItems(transcript, query)),
    extend: (next) => inspectionOf(next, familyOf(next) === family ? caches : createCaches(familyOf(next))),
  };
}

type NormalOptions = Required<Pick<WindowOptions, "policy" | "upTo">> & Pick<WindowOptions, "budget">;

interface RecordedSize extends Pick<ShownSize, "tokens" | "source"> {
  readonly rowTokens: number;
}

interface CachedRun {
  readonly run: PolicyRun;
  view?: WindowView;
}

/** Enough for two policies side by side, each with what was sent before, now and at the moment before. */
const MAX_CACHED_RUNS = 8;

function modelOf({ model, transcript }: InspectedSession): string | undefined {
  return (
    model ?? transcript.findLast((message) => message.model !== undefined && !message.summary)?.model?.id
  );
}

function familyOf(session: InspectedSession): TokenFamily {
  const model = modelOf(session);
  return model === undefined ? "gpt" : tokenFamilyOf(model);
}

function sizeOf(
  transcript: Transcript,
  recorded: RecordedRows,
): { readonly tokens: number; readonly chars: number } {
  let tokens = 0;
  let chars = 0;
  for (const [index, message] of transcript.entries()) {
    const row = recorded.rowOf(message, index);
    tokens += row.tokens;
    for (const item of row.items) chars += item.chars;
  }
  return { tokens, chars };
}

/** Gives the first messages as they were then: what was cleared later is not cleared yet. Other messages stay the same objects. */
function createPastTranscript(transcript: Transcript): (count: number) => Transcript {
  const cleared = transcript.flatMap((message, index) =>
    message.parts.some((part) => isClearedAfter(part, Number.NEGATIVE_INFINITY)) ? [index] : [],
  );
  const restored = new WeakMap<Message, Map<number, Message>>();

  /** Parts are cleared in the order of time, so their number identifies which ones were not cleared yet. */
  function restore(message: Message, at: number): Message {
    const whole = message.parts.filter((part) => isClearedAfter(part, at)).length;
    if (whole === 0) return message;
    const known = restored.get(message) ?? new Map<number, Message>();
    restored.set(message, known);
    const made = known.get(whole) ?? { ...message, parts: message.parts.map((part) => partAt(part, at)) };
    known.set(whole, made);
    return made;
  }

  return (count) => {
    if (count >= transcript.length) return transcript;
    const messages = transcript.slice(0, count);
    const at = messages.findLast(({ createdAt }) => createdAt !== undefined)?.createdAt;
    if (at === undefined) return messages;
    for (const index of cleared) {
      const message = messages[index];
      if (message === undefined) break;
      messages[index] = restore(message, at);
    }
    return messages;
  };
}

function isClearedAfter(part: Part, at: number): boolean {
  return part.type === "tool" && part.clearedAt !== undefined && part.clearedAt > at;
}

function partAt(part: Part, at: number): Part {
  if (part.type !== "tool" || !isClearedAfter(part, at)) return part;
  const { clearedAt: _, ...rest } = part;
  return rest;
}

/** The messages with which two requests begin alike: the provider reads them from its cache. */
function cachedPrefix(sent: Transcript, next: Transcript, rows: readonly MessageRow[]): CachedPrefix {
  const rowsById = new Map(rows.map((row) => [row.id, row]));
  let messages = 0;
  let tokens = 0;
  let endIndex = 0;
  for (const message of next) {
    // The same edit applied twice makes two equal messages.
    if (!deepEqual(sent[messages], message)) break;
    const row = rowsById.get(message.id);
    messages++;
    tokens += row?.keptTokens ?? 0;
    endIndex = Math.max(endIndex, (row?.index ?? -1) + 1);
  }
  return { messages, tokens, endIndex };
}

/** How many messages the last request had; the answer to it was not part of it. */
function lastRequestEnd(transcript: Transcript): number {
  return Math.max(0, transcript.findLastIndex(isAnswer));
}
