import { endToast, offerToast } from "../../../fork/life/end.ts";
import { currentRun, type EndedRun, type ForkRecord, forkName, isLive } from "../../../fork/life/record.ts";
import { activityOf } from "../../../fork/life/report.ts";
import { opencode2 } from "../../../formats/files/opencode2/opencode2.ts";
import { forkFacts } from "../../../plugin/forks/shown-forks.ts";
import type { ToastTone } from "../../../plugin/host/screen.ts";
import { isHeld, type RecordedForks } from "../../../plugin/stores/plugin-stores.ts";
import { clipLine, plural } from "../../../text/display.ts";
import { asNumber, asObject, asString, safeJson } from "../../../text/json.ts";
import { normalizeText } from "../../../text/normalize.ts";
import { redactSecrets } from "../../../text/secrets/redact-secrets.ts";
import type { LeftContent } from "./watch.ts";

/** The forks of a root session by number, as the screen shows them. */
export function forkLines({ records, leases }: RecordedForks, question: ForkQuestion): readonly ForkLine[] {
  const { rootSessionId, nowMs, stepOf, askOf } = question;
  return records
    .filter((record) => record.rootSessionId === rootSessionId)
    .toSorted((one, other) => one.number - other.number)
    .map((record): ForkLine => {
      const run = currentRun(record);
      const { childSessionId } = record;
      const isLost = isLive(run) && !isHeld(record, { leases, nowMs });
      const asks = isLive(run) && run.asks.length > 0;
      const lookAt = asks ? askOf : stepOf;
      const step = isLive(run) && childSessionId !== undefined ? lookAt(childSessionId) : undefined;
      // Whatever else is to be said of it stands in its facts.
      const isWorking = isLive(run) && run.state === "running" && activityOf(run, nowMs) === "active";
      const [state = "", ...facts] = [...(isWorking ? ["running"] : []), ...forkFacts(record, nowMs)];
      return {
        title: `#${record.number} ${plainLine(record.title, MAX_TITLE_CHARS) || "untitled"}`,
        state: isLost ? "interrupted: its OpenCode is gone" : state,
        facts: isLost ? [] : facts,
        tone: isLost
          ? "failed"
          : asks
            ? "asks"
            : isLive(run)
              ? "running"
              : run.state === "completed"
                ? "ended"
                : "failed",
        ...(childSessionId !== undefined && { sessionId: childSessionId }),
        ...(step !== undefined && { step }),
        ...(!isLive(run) && endLine(run)),
      };
    });
}

/** Why it failed, or how its report begins. */
function endLine({ error, text }: EndedRun): Pick<ForkLine, "step"> {
  const said = error?.message ?? text.replace(/\*\*|`/g, "");
  return said === "" ? {} : { step: plainLine(said, MAX_STEP_CHARS) };
}

interface ForkQuestion {
  readonly rootSessionId: string;
  readonly nowMs: number;
  /** The newest step of a session, if it is known. */
  readonly stepOf: (sessionId: string) => string | undefined;
  /** What a session waits for a permission to do, if it is known. */
  readonly askOf: (sessionId: string) => string | undefined;
}

export interface ForkLine {
  readonly title: string;
  readonly state: string;
  /** Calls, time and cost. */
  readonly facts: readonly string[];
  readonly tone: "running" | "asks" | "ended" | "failed";
  readonly sessionId?: string;
  /** What it did last, what it asks for, or how its report begins. */
  readonly step?: string;
}

/** A fork in the lines of the sidebar below its title, what matters first, cut at their ends. */
export function sidebarLines({ state, facts, step }: ForkLine): readonly string[] {
  const lines = [[state, ...facts].join(" · "), ...(step === undefined ? [] : [`↳ ${step}`])];
  return lines.map((line) => clipLine(line, SIDEBAR_CHARS));
}

/** A fork in a row of a list, behind its title. */
export function listLine({ title, tone, state, facts, step }: ForkLine): string {
  const asks = tone === "asks" && step !== undefined ? `${state}: ${step}` : state;
  return clipLine([asks, ...facts].join(" · "), LIST_CHARS - title.length);
}

/** The newest step in stored messages: the last call, or the last text. */
export function lastStep(messages: readonly unknown[]): string | undefined {
  const answer = opencode2.decode(messages.slice(-LAST)).findLast(({ role }) => role === "assistant");
  const part = answer?.parts.findLast(({ type }) => type === "tool" || type === "text");
  if (part?.type === "text") return plainLine(part.text, MAX_STEP_CHARS) || undefined;
  if (part?.type !== "tool") return undefined;
  const [first] = Object.values(asObject(part.input));
  const about = asString(first) ?? (first === undefined ? "" : safeJson(first));
  return plainLine(`${part.tool} ${about}`, MAX_STEP_CHARS);
}

/** How full a session's window is, by the newest usage that the provider reported since the last compaction. */
export function windowFill(messages: readonly unknown[], models: readonly unknown[]): WindowFill | undefined {
  const all = messages.map(asObject);
  const compacted = all.findLastIndex(
    ({ type, status }) => type === "compaction" && (status === undefined || status === "completed"),
  );
  const answer = all.findLast(
    ({ type, tokens }, index) => type === "assistant" && tokens !== undefined && index > compacted,
  );
  if (answer === undefined) return undefined;
  const { input, output, reasoning, cache } = asObject(answer.tokens);
  const { read, write } = asObject(cache);
  const tokens = [input, output, reasoning, read, write].reduce<number>(
    (sum, count) => sum + (asNumber(count) ?? 0),
    0,
  );
  if (tokens <= 0) return undefined;
  const { id, providerID } = asObject(answer.model);
  const model = models.map(asObject).find((each) => each.id === id && each.providerID === providerID);
  const limitTokens = asNumber(asObject(model?.limit).context);
  return { tokens, ...(limitTokens !== undefined && limitTokens > 0 && { limitTokens }) };
}

export interface WindowFill {
  readonly tokens: number;
  /** How many the model takes, where that is known. */
  readonly limitTokens?: number;
}

/** One line: what was saved, and how many forks run; empty where there is nothing to say. How full the window is OpenCode says beside it. */
export function statusLine({ left, running }: Status): string {
  const saved = left.reduce((sum, { tokens }) => sum + tokens, 0);
  return [saved > 0 ? `${shortCount(saved)} saved` : "", running > 0 ? plural(running, "fork") : ""]
    .filter((fact) => fact !== "")
    .join(" · ");
}

interface Status {
  readonly left: readonly LeftContent[];
  /** Forks at work. */
  readonly running: number;
}

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

/** Chosen by a model: one line without escape sequences and secrets. */
export function plainLine(text: string, maxChars: number): string {
  return clipLine(redactSecrets(normalizeText(text.slice(0, MAX_READ_CHARS))), maxChars);
}

/** A count in at most four characters: 940, 3.8k, 41k, 1.2M. */
export function shortCount(count: number): string {
  if (count < 1_000) return String(Math.round(count));
  if (count < 9_950) return `${(count / 1_000).toFixed(1)}k`;
  if (count < 999_500) return `${Math.round(count / 1_000)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** Enough to meet an answer behind what was inserted. */
const LAST = 6;
const MAX_TITLE_CHARS = 32;
/** The sidebar has 36 columns, of which two are left empty. */
const SIDEBAR_CHARS = 34;
const MAX_STEP_CHARS = 32;
/** A row of a large dialog, also where the terminal has 80 columns. */
const LIST_CHARS = 70;
const MAX_READ_CHARS = 8_192;
