import { MAX_TITLE_CHARS, plainLine } from "../../../agents/fork-lines.ts";
import { endToast, offerToast } from "../../../fork/life/end.ts";
import { currentRun, type ForkRecord, forkName, isLive } from "../../../fork/life/record.ts";
import type { ToastTone } from "../../../plugin/host/host-parts.ts";
import { redactSecrets } from "../../../text/secrets/redact-secrets.ts";

/** What has happened to forks since they were last looked at: ends, and questions that nobody has answered. */
export function forkNews(
  records: readonly ForkRecord[],
  { before, sinceMs }: ForkMemory,
): readonly ForkNews[] {
  return records.flatMap((record): ForkNews[] => {
    const run = currentRun(record);
    const known = before.get(record.id);
    const name = forkName({ ...record, title: plainLine(record.title, MAX_TITLE_CHARS) });
    if (known === undefined && !isLive(run) && run.endedAtMs < sinceMs) return [];
    if (isLive(run)) {
      const asked = run.asks.filter(({ askId }) => !known?.asks.includes(askId));
      const { childSessionId: sessionId } = record;
      return asked.map(({ askId }) => ({
        type: "asks",
        name,
        askId,
        ...(sessionId !== undefined && { sessionId }),
      }));
    }
    if (known?.run === run.number && !known.isLive) return [];
    const { text, tone } = run.undone === undefined ? endToast(run) : offerToast(run);
    return [{ type: "ended", name, text: redactSecrets(text), tone }];
  });
}

type ForkNews =
  | { readonly type: "ended"; readonly name: string; readonly text: string; readonly tone: ToastTone }
  | {
      readonly type: "asks";
      readonly name: string;
      readonly askId: string;
      readonly sessionId?: string;
    };

interface ForkMemory {
  readonly before: ForkStates;
  /** When it began to be looked at: what had ended by then is no news. */
  readonly sinceMs: number;
}

/** What is remembered of each fork between two looks. */
export type ForkStates = ReadonlyMap<string, ForkState>;

interface ForkState {
  readonly run: number;
  readonly isLive: boolean;
  readonly asks: readonly string[];
}

export function forkStates(records: readonly ForkRecord[]): ForkStates {
  return new Map(
    records.map((record) => {
      const run = currentRun(record);
      const asks = isLive(run) ? run.asks.map(({ askId }) => askId) : [];
      return [record.id, { run: run.number, isLive: isLive(run), asks }];
    }),
  );
}
