import { cacheProfileFor } from "../../stages/cache-profiles.ts";
import { deepEqual } from "../../text/json.ts";
import { type TokenFamily, tokenFamilyOf } from "../../text/tokens/estimate-tokens.ts";
import { isAnswer, type Message, type Transcript, withUniqueIds } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { itemTextOf, searchItems } from "./item-text.ts";
import { clampBudget, type PolicyRun, policiesFor, runPolicy } from "./policies.ts";
import { memoizeForkPipeline, previewCompactionOf, previewForkOf } from "./previews.ts";
import { createRecordedRows, isCompactionSummary, type RecordedRows } from "./recorded-rows.ts";
import type {
  CachedPrefix,
  InspectedSession,
  Inspection,
  MessageRow,
  PolicyId,
  PolicyInfo,
  WindowOptions,
  WindowView,
} from "./types.ts";
import { createWindowRows, insertedRows, type WindowRows } from "./window-rows.ts";
import { createWindowTotals, type WindowTotaller } from "./window-totals.ts";

/** Looks at a session with the engine itself; texts are measured once, and the last few views are kept. */
export function createInspection(session: InspectedSession): Inspection {
  return inspectionOf(session, createCaches(familyOf(session)));
}

interface Caches {
  readonly family: TokenFamily;
  readonly recorded: RecordedRows;
  readonly rows: Map<PolicyId, WindowRows>;
  readonly totals: WindowTotaller;
}

function createCaches(family: TokenFamily): Caches {
  const recorded = createRecordedRows(family);
  return { family, recorded, rows: new Map(), totals: createWindowTotals() };
}

function inspectionOf(session: InspectedSession, caches: Caches): Inspection {
  const { recorded, family } = caches;
  const transcript = withUniqueIds(session.transcript);
  const past = createPastTranscript(transcript);
  const profile = cacheProfileFor({ id: modelOf(session) ?? "" });
  const policies = policiesFor(sizeOf(session, transcript, recorded));
  const runs = new Map<string, Run>();
  const graduate = memoizeForkPipeline();

  function momentOf(upTo: number = transcript.length): number {
    return Math.min(transcript.length, Math.max(0, Math.floor(upTo) || 0));
  }

  /** When the newest of these messages was said; the end of time for all of them. */
  function timeOf(upTo: number): number {
    if (upTo >= transcript.length) return Number.POSITIVE_INFINITY;
    const dated = transcript.slice(0, upTo).findLast(({ createdAt }) => createdAt !== undefined);
    return dated?.createdAt ?? Number.NEGATIVE_INFINITY;
  }

  function asked({ policy, budget, upTo }: WindowOptions): Asked {
    const info = policies.find(({ id }) => id === policy) ?? (policies[0] as PolicyInfo);
    return {
      policy: info.id,
      upTo: momentOf(upTo),
      ...(info.budget && { budget: clampBudget(info.budget, budget) }),
    };
  }

  function runOf({ policy, budget, upTo }: Asked): Run {
    const key = `${policy}/${budget}/${upTo}`;
    const known = runs.get(key);
    if (known !== undefined) return known;
    const { format, windowTokens, sessionId, batches } = session;
    const run: Run = {
      run: runPolicy(past.upTo(upTo), {
        policy,
        budget: budget ?? 0,
        format,
        windowTokens,
        ...(sessionId !== undefined && { sessionId }),
        ...(batches && { batches: batches.filter(({ at }) => at <= timeOf(upTo)) }),
      }),
    };
    const [oldest] = runs.keys();
    if (runs.size >= KEPT_RUNS && oldest !== undefined) runs.delete(oldest);
    runs.set(key, run);
    return run;
  }

  const sentAt = (upTo: number): Transcript => runOf({ policy: "as-sent", upTo }).run.left;

  function viewOf(options: Asked, run: PolicyRun): WindowView {
    const maker = caches.rows.get(options.policy) ?? createWindowRows(recorded);
    caches.rows.set(options.policy, maker);
    const rows = maker(run);
    const inserted = insertedRows(run, recorded);
    return {
      ...options,
      rows,
      inserted,
      boundaries: run.source.flatMap((message, index) => (isCompactionSummary(message) ? [index] : [])),
      cachedPrefix: cachedPrefix(sentAt(lastRequestEnd(run.source)), run.left, rows),
      ...caches.totals.of(options.policy, { rows, inserted }),
    };
  }

  return {
    session,
    policies,
    inspectWindow(options) {
      const known = asked(options);
      const made = runOf(known);
      made.view ??= viewOf(known, made.run);
      return made.view;
    },
    itemText: (options, place) => itemTextOf(runOf(asked(options)).run, place),
    previewFork(options) {
      const upTo = momentOf(options.upTo);
      return previewForkOf(
        {
          recorded: past.upTo(upTo),
          sent: sentAt(upTo),
          family,
          profile,
          tokensOf: recorded.tokensOf,
          graduate,
          ...(session.windowKnown && { windowTokens: session.windowTokens }),
          ...(session.sessionId !== undefined && { sessionId: session.sessionId }),
        },
        options,
      );
    },
    previewCompaction(options = {}) {
      const { format, windowTokens } = session;
      const source = {
        recorded: past.upTo(momentOf(options.upTo)),
        format,
        windowTokens,
        profile,
        tokensOf: recorded.tokensOf,
      };
      return previewCompactionOf(source, options);
    },
    search: (query) => searchItems(transcript, query),
    extend: (next) => inspectionOf(next, familyOf(next) === family ? caches : createCaches(familyOf(next))),
  };
}

type Asked = Required<Pick<WindowOptions, "policy" | "upTo">> & Pick<WindowOptions, "budget">;

interface Run {
  readonly run: PolicyRun;
  view?: WindowView;
}

/** Two policies side by side, each with what was sent before, and the moment before. */
const KEPT_RUNS = 8;

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
  { windowTokens }: InspectedSession,
  transcript: Transcript,
  recorded: RecordedRows,
): Parameters<typeof policiesFor>[0] {
  let tokens = 0;
  let chars = 0;
  for (const [index, message] of transcript.entries()) {
    const row = recorded.rowOf(message, index);
    tokens += row.tokens;
    for (const item of row.items) chars += item.chars;
  }
  return { windowTokens, tokens, chars };
}

/** Gives a transcript as it was at an earlier time: what was cleared later is not cleared yet. */
interface PastTranscript {
  upTo(count: number): Transcript;
}

/** Looks only at messages with something cleared; all others stay the same objects. */
function createPastTranscript(transcript: Transcript): PastTranscript {
  const cleared = transcript.flatMap((message, index) => (message.parts.some(isCleared) ? [index] : []));
  const restored = new WeakMap<Message, Map<number, Message>>();

  /** Time goes one way, so the number of parts that were still whole tells which ones they were. */
  function restore(message: Message, at: number): Message {
    const whole = message.parts.filter((part) => clearedAfter(part, at)).length;
    if (whole === 0) return message;
    const known = restored.get(message) ?? new Map<number, Message>();
    restored.set(message, known);
    const made = known.get(whole) ?? { ...message, parts: message.parts.map((part) => partAt(part, at)) };
    known.set(whole, made);
    return made;
  }

  return {
    upTo(count) {
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
    },
  };
}

function isCleared(part: Part): boolean {
  return part.type === "tool" && part.clearedAt !== undefined;
}

function clearedAfter(part: Part, at: number): boolean {
  return part.type === "tool" && part.clearedAt !== undefined && part.clearedAt > at;
}

function partAt(part: Part, at: number): Part {
  if (part.type !== "tool" || !clearedAfter(part, at)) return part;
  const { clearedAt: _, ...rest } = part;
  return rest;
}

/** What two requests have in common from the front: the same messages, unchanged. */
function cachedPrefix(sent: Transcript, next: Transcript, rows: readonly MessageRow[]): CachedPrefix {
  const rowsById = new Map(rows.map((row) => [row.id, row]));
  let messages = 0;
  let tokens = 0;
  let endIndex = 0;
  for (const message of next) {
    // The same edit, made twice, gives two messages that say the same.
    if (!deepEqual(sent[messages], message)) break;
    const row = rowsById.get(message.id);
    messages++;
    tokens += row?.keptTokens ?? 0;
    endIndex = Math.max(endIndex, (row?.index ?? -1) + 1);
  }
  return { messages, tokens, endIndex };
}

/** How many messages there were when the model was asked last; its newest answer was not part of that request. */
function lastRequestEnd(transcript: Transcript): number {
  return Math.max(0, transcript.findLastIndex(isAnswer));
}
