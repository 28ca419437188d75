import { cacheProfileFor } from "../../../stages/provider-cache-profiles.ts";
import { type TokenFamily, tokenFamilyOf } from "../../../text/token-model-families.ts";
import type { Transcript } from "../../../transcript/message.ts";
import { withUniqueIds } from "../../../transcript/unique-ids.ts";
import { cachedPrefix, lastRequestEnd } from "./cached-prefix.ts";
import { insertedRows } from "./inserted-rows.ts";
import { itemTextOf } from "./item-text.ts";
import { createPastTranscript } from "./past-transcript.ts";
import { budgetWithin, policiesFor } from "./policies.ts";
import { type PolicyRun, runPolicy } from "./policy-run.ts";
import { previewCompactionOf } from "./preview-compaction.ts";
import { previewForkOf, rememberGraduated } from "./preview-fork.ts";
import { createRecordedRows, isCompactionSummary, type RecordedRows } from "./recorded-rows.ts";
import { searchItems } from "./search-items.ts";
import type {
  InspectedSession,
  Inspection,
  PolicyId,
  PolicyInfo,
  WindowOptions,
  WindowView,
} from "./types.ts";
import { createWindowRows, type WindowRows } from "./window-rows.ts";
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
  const graduate = rememberGraduated();

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
      ...(info.budget && { budget: budgetWithin(info.budget, budget) }),
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
    const rows = maker.rowsOf(run);
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
