import { probesOf } from "../../eval/measures/measure-recall.ts";
import { plainMessages } from "../../eval/probe/history-text.ts";
import type { Probe } from "../../eval/probe/next-use.ts";
import { createScorer } from "../../eval/probe/score-text.ts";
import { FORK_CHAR_BUDGET } from "../../fork/context/options.ts";
import { cacheProfileOf } from "../../models/cache-profile.ts";
import { modelFacts } from "../../models/model-facts.ts";
import { tokenFamilyOf } from "../../models/token-family.ts";
import { measureWindow } from "../../session/recorded-measure.ts";
import { deepEqual } from "../../text/deep-equal.ts";
import type { TokenFamily } from "../../text/tokens/estimate-tokens.ts";
import { reportsContextUsage } from "../../transcript/estimate-context.ts";
import { isAnswer, type Transcript, withUniqueIds } from "../../transcript/message.ts";
import { insertedRows } from "./inserted-rows.ts";
import { itemTextOf } from "./item-text.ts";
import { scaleOf } from "./kinds.ts";
import { lostContent, NEXT_STEPS } from "./lost-content.ts";
import { isCompactionSummary } from "./part-texts.ts";
import { createPastTranscript } from "./past-transcript.ts";
import { clampBudget, type PolicyRun, policiesFor, runPolicy, runWithin, sharedBudget } from "./policies.ts";
import { computeCacheCost, previewCompaction, previewForks } from "./previews.ts";
import { createRecordedRows, type RecordedRows } from "./recorded-rows.ts";
import { searchItems } from "./search-items.ts";
import type {
  CachedPrefix,
  InspectedSession,
  Inspection,
  KeptByPolicy,
  MessageRow,
  PolicyBudget,
  PolicyId,
  PolicyInfo,
  ShownSize,
  WindowOptions,
  WindowOverTime,
  WindowView,
} from "./types.ts";
import { windowOverTime } from "./window-over-time.ts";
import { createWindowRows, type WindowRows } from "./window-rows.ts";
import { createWindowTotals, type WindowTotaller } from "./window-totals.ts";

/**
 * Computes everything that the page shows about a session, with the engine itself. A policy is run on the messages up to
 * a moment (policies.ts); its edits become rows over the rows as recorded (recorded-rows.ts), and rows are summed up
 * (`window-rows.ts`, `window-totals.ts`). Texts are measured once, and the last few runs are kept.
 */
export function createInspection(session: InspectedSession): Inspection {
  return inspectionOf(session, createCaches(familyOf(session)));
}

/** Caches that stay valid when a session grows. */
interface Caches {
  readonly family: TokenFamily;
  readonly recorded: RecordedRows;
  readonly rows: Map<PolicyId, WindowRows>;
  readonly totals: WindowTotaller;
  /** Counts of what policies kept, by probe, policy and budget. */
  readonly kept: Map<string, KeptCount>;
}

function createCaches(family: TokenFamily): Caches {
  const recorded = createRecordedRows(family);
  return { family, recorded, rows: new Map(), totals: createWindowTotals(), kept: new Map() };
}

function inspectionOf(session: InspectedSession, caches: Caches): Inspection {
  const { recorded, family } = caches;
  const { tokensOf } = recorded;
  const { format, windowTokens, sessionId, batches } = session;
  const transcript = withUniqueIds(session.transcript);
  const transcriptUpTo = createPastTranscript(transcript);
  const wholeSize = sizeOf(transcript, recorded);
  const policies = policiesFor({ windowTokens, ...wholeSize });
  const runs = new Map<string, CachedRun>();
  const sizes = new Map<number, RecordedSize>();
  let overTime: WindowOverTime | undefined;
  let shared: PolicyBudget | undefined;
  let probes: readonly { readonly probe: Probe; readonly score: Scorer }[] | undefined;

  function clampUpTo(upTo: number = transcript.length): number {
    return Math.min(transcript.length, Math.max(0, Math.floor(upTo) || 0));
  }

  /** The time of the newest of these messages; infinite for all of them. */
  function timeOf(upTo: number): number {
    if (upTo >= transcript.length) return Number.POSITIVE_INFINITY;
    const dated = transcript.slice(0, upTo).findLast(({ createdAt }) => createdAt !== undefined);
    return dated?.createdAt ?? Number.NEGATIVE_INFINITY;
  }

  function normalizeOptions({ policy, budget, budgetTokens, upTo }: WindowOptions): NormalOptions {
    const info = policies.find(({ id }) => id === policy) ?? (policies[0] as PolicyInfo);
    return {
      policy: info.id,
      upTo: clampUpTo(upTo),
      ...(info.budget &&
        (budgetTokens === undefined
          ? { budget: clampBudget(info.budget, budget) }
          : { budgetTokens: Math.max(1, Math.round(budgetTokens) || 1) })),
    };
  }

  /** Estimated tokens of the messages of a run. */
  function tokensOfRun(run: PolicyRun): number {
    const rows = createWindowRows(recorded)(run).reduce((sum, { keptTokens }) => sum + keptTokens, 0);
    return rows + insertedRows(run, recorded).reduce((sum, { tokens }) => sum + tokens, 0);
  }

  function runOf({ policy, budget, budgetTokens, upTo }: NormalOptions): CachedRun {
    const key = `${policy}/${budget}/${budgetTokens}/${upTo}`;
    const known = runs.get(key);
    if (known !== undefined) return known;
    const source = transcriptUpTo(upTo);
    const request = {
      policy,
      format,
      windowTokens,
      ...(sessionId !== undefined && { sessionId }),
      ...(batches && { batches: batches.filter(({ at }) => at <= timeOf(upTo)) }),
    };
    const made: CachedRun =
      budgetTokens === undefined
        ? { run: runPolicy(source, { ...request, budget: budget ?? 0 }) }
        : fittedRun(source, request, runLimits(budgetTokens, upTo));
    const [oldest] = runs.keys();
    if (runs.size >= MAX_CACHED_RUNS && oldest !== undefined) runs.delete(oldest);
    runs.set(key, made);
    return made;
  }

  function runLimits(budgetTokens: number, upTo: number): Parameters<typeof runWithin>[2] {
    const { outsideTokens, scale } = sizeOfView(upTo, 0);
    const maxTokens = Math.max(MIN_MESSAGE_TOKENS, (budgetTokens - outsideTokens) / scale);
    return { maxTokens, windowTokens: budgetTokens, tokensOf: tokensOfRun };
  }

  /** Prices count as known when they are those of this exact model. */
  const cachePrices = (): Pick<Parameters<typeof computeCacheCost>[0], "profile" | "pricesKnown"> => {
    const facts = modelFacts({ id: modelOf(session) ?? "" }, { rows: session.models });
    return { profile: cacheProfileOf(facts), pricesKnown: !facts.assumed.includes("cache") };
  };
  const sentAt = (upTo: number): Transcript => runOf({ policy: "as-sent", upTo }).run.left;

  /** The recorded size of the window, and what the rows of that request add up to. */
  function recordedSize(upTo: number): RecordedSize {
    const known = sizes.get(upTo);
    if (known !== undefined) return known;
    const source = transcriptUpTo(upTo);
    const size = measureWindow(source);
    const counted = size.source === "usage" ? source.findLast(reportsContextUsage) : undefined;
    // Edits after the counted request are not in the count.
    const counting = (batches ?? []).filter(
      ({ at }) => counted !== undefined && at <= (counted.createdAt ?? at),
    );
    const run = runPolicy(source, { policy: "as-sent", budget: 0, format, windowTokens, batches: counting });
    const made = { tokens: size.tokens, source: size.source, rowTokens: tokensOfRun(run) };
    sizes.set(upTo, made);
    return made;
  }

  function sizeOfView(upTo: number, tokensAfter: number): ShownSize {
    const { tokens, source, rowTokens } = recordedSize(upTo);
    const systemTokens = source === "usage" ? Math.min(tokens, allTime().systemTokens) : 0;
    // When everything is estimated, nothing is outside the messages.
    const scale =
      source === "usage"
        ? scaleOf(rowTokens, tokens - systemTokens)
        : rowTokens === 0 || tokens === 0
          ? 1
          : tokens / rowTokens;
    const outsideTokens = Math.max(0, tokens - rowTokens * scale);
    return { tokens: Math.round(outsideTokens + tokensAfter * scale), source, outsideTokens, scale };
  }

  /** Previews use the same sizes as the head of the page. */
  function shownSizes(upTo: number): Pick<Parameters<typeof previewForks>[0], "now" | "tokensOfRun"> {
    return { now: inspectWindow({ policy: "as-sent", upTo }).size, tokensOfRun };
  }

  function budget(): PolicyBudget {
    shared ??= sharedBudget({ ...sizeOfView(transcript.length, 0), windowTokens, ...wholeSize });
    return shared;
  }

  /** How much a policy would have kept of what the next steps used, at a few places of the session. */
  function keptBy(policy: PolicyId, budgetTokens: number): KeptByPolicy | undefined {
    const { workingDirectory } = session;
    probes ??= probesOf(
      { name: session.name, format, transcript, ...(workingDirectory !== undefined && { workingDirectory }) },
      { steps: NEXT_STEPS, maxProbes: MAX_PROBES },
    ).map((probe) => ({ probe, score: createScorer(probe) }));
    if (probes.length === 0) return undefined;
    const counts = probes.map(({ probe, score }) => {
      const key = `${probe.next?.id}/${policy}/${budgetTokens}`;
      const known = caches.kept.get(key);
      if (known !== undefined) return known;
      const request = { policy, format, windowTokens, ...(sessionId !== undefined && { sessionId }) };
      const { left } = runWithin(probe.history, request, runLimits(budgetTokens, transcript.length));
      const { usable } = score(plainMessages(left).join("\n"));
      const made = { keptCount: usable.filter(Boolean).length, neededCount: usable.length };
      caches.kept.set(key, made);
      return made;
    });
    const sum = (count: (of: KeptCount) => number): number =>
      counts.reduce((total, of) => total + count(of), 0);
    return {
      policy,
      keptCount: sum(({ keptCount }) => keptCount),
      neededCount: sum(({ neededCount }) => neededCount),
    };
  }

  function viewOf(options: NormalOptions, { run, budget: used }: CachedRun): WindowView {
    const rowsOf = caches.rows.get(options.policy) ?? createWindowRows(recorded);
    caches.rows.set(options.policy, rowsOf);
    const rows = rowsOf(run);
    const inserted = insertedRows(run, recorded);
    const totals = caches.totals(options.policy, rows, inserted);
    return {
      ...options,
      ...(used !== undefined && { budget: used }),
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
    cached.view ??= viewOf(normal, cached);
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
    comparePolicies({ upTo: asked, budgetTokens = budget().default }) {
      const upTo = clampUpTo(asked);
      const now = inspectWindow({ policy: "as-sent", upTo });
      const sent = sentAt(upTo);
      return policies.map((policy) => {
        const options = normalizeOptions({ policy: policy.id, upTo, budgetTokens });
        const { size, rows } = inspectWindow(options);
        const shared = cachedPrefix(sent, runOf(options).run.left, rows);
        const cache = computeCacheCost({
          ...cachePrices(),
          unchangedTokens: now.size.tokens,
          changedTokens: size.tokens,
          sharedTokens: Math.round(size.outsideTokens + shared.tokens * size.scale),
        });
        return { ...policy, tokens: size.tokens, changeTokens: size.tokens - now.size.tokens, cache };
      });
    },
    keptByPolicies: ({ budgetTokens = budget().default }) =>
      policies.flatMap(({ id }) => keptBy(id, budgetTokens) ?? []),
    get budget() {
      return budget();
    },
    itemText: (options, place) => itemTextOf(runOf(normalizeOptions(options)).run, place),
    previewForks({ budgetTokens, ...options }) {
      const upTo = clampUpTo(options.upTo);
      const policy = options.profile === "documented" ? "fixed" : "fill";
      const { budgetChars = FORK_CHAR_BUDGET } = options;
      const fitted =
        budgetTokens === undefined
          ? undefined
          : runOf(normalizeOptions({ policy, budgetTokens, upTo })).budget;
      const source = {
        recorded: transcriptUpTo(upTo),
        sent: sentAt(upTo),
        family,
        ...cachePrices(),
        tokensOf,
        ...shownSizes(upTo),
        ...(session.windowKnown && { windowTokens }),
        ...(sessionId !== undefined && { sessionId }),
      };
      return previewForks(source, {
        ...options,
        budgetChars: fitted ?? budgetChars,
        ...(budgetTokens !== undefined && { budgetTokens }),
      });
    },
    previewCompaction(options = {}) {
      const upTo = clampUpTo(options.upTo);
      const source = {
        recorded: transcriptUpTo(upTo),
        format,
        windowTokens,
        ...cachePrices(),
        tokensOf,
      };
      return previewCompaction({ ...source, ...shownSizes(upTo) }, options);
    },
    search: (query) => (query.trim() === "" ? [] : searchItems(transcript, query)),
    extend: (next) => inspectionOf(next, familyOf(next) === family ? caches : createCaches(familyOf(next))),
  };
}

type NormalOptions = Required<Pick<WindowOptions, "policy" | "upTo">> &
  Pick<WindowOptions, "budget" | "budgetTokens">;

type KeptCount = Omit<KeptByPolicy, "policy">;

type Scorer = ReturnType<typeof createScorer>;

interface RecordedSize extends Pick<ShownSize, "tokens" | "source"> {
  readonly rowTokens: number;
}

interface CachedRun {
  readonly run: PolicyRun;
  /** The policy's own budget that was found to fit. */
  readonly budget?: number;
  view?: WindowView;
}

function fittedRun(...asked: Parameters<typeof runWithin>): CachedRun {
  const { budget, ...run } = runWithin(...asked);
  return { run, budget };
}

/** Enough for all policies at one moment, and what was sent before it. */
const MAX_CACHED_RUNS = 12;

/** A smaller window is useless. */
const MIN_MESSAGE_TOKENS = 250;

/** At how many places of a session policies are judged. */
const MAX_PROBES = 3;

function modelOf({ model, transcript }: InspectedSession): string | undefined {
  return (
    model ?? transcript.findLast((message) => message.model !== undefined && !message.summary)?.model?.id
  );
}

function familyOf(session: InspectedSession): TokenFamily {
  const model = modelOf(session);
  return tokenFamilyOf(model === undefined ? undefined : { id: model });
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

/** The common prefix of two requests, which the provider reads from its cache. */
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
