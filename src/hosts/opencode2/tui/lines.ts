import { activityOf, endToast, offerToast } from "../../../fork/life/end.ts";
import { currentRun, type EndedRun, type ForkRecord, forkName, isLive } from "../../../fork/life/record.ts";
import { opencode2 } from "../../../formats/files/opencode2/opencode2.ts";
import { tokenFamilyOf } from "../../../models/token-family.ts";
import { forkFacts } from "../../../plugin/forks/child.ts";
import type { ToastTone } from "../../../plugin/host/host-parts.ts";
import { isHeld, type RecordedForks } from "../../../plugin/stores/plugin-stores.ts";
import { filterCompacted } from "../../../stages/boundary.ts";
import { clipLine } from "../../../text/clip.ts";
import { formatNumber, plural } from "../../../text/format-number.ts";
import { safeJson } from "../../../text/json.ts";
import { normalizeText } from "../../../text/normalize.ts";
import { redactSecrets } from "../../../text/secrets/redact-secrets.ts";
import { asNumber, asObject, asString } from "../../../text/unknown-value.ts";
import { estimateMessageTokens, estimateResultTokens } from "../../../transcript/estimate-message.ts";
import type { Transcript } from "../../../transcript/message.ts";
import { tokensOf } from "../../opencode/sessions.ts";
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
        state: isLost ? "interrupted: its program is gone" : state,
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

/** The forks of a session as a person reads them where there is no list to choose from. */
export function forkReport(recorded: RecordedForks, rootSessionId: string): string {
  const nothing = () => undefined;
  const question = { rootSessionId, nowMs: Date.now(), stepOf: nothing, askOf: nothing };
  const rows = forkLines(recorded, question).map(
    (line) => `${line.title}  ${listLine(line)}${line.step ? `\n    ${line.step}` : ""}`,
  );
  return rows.length > 0 ? rows.join("\n") : "This session has no forks.";
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
  const tokens = tokensOf(answer.tokens);
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

/** What fills a session's window, and what left it and why, in lines for a person. */
export function contextReport({ messages, fill, left }: ReportSources): string {
  const transcript = opencode2.decode(messages);
  const pruned = left.reduce((sum, { tokens, isStored }) => sum + (isStored ? tokens : 0), 0);
  const window = filterCompacted(transcript);
  const kinds = scaled(windowKinds(window, pruned), roomOf(window, fill));
  const known = sumOf(kinds);
  const rest = fill === undefined ? 0 : Math.max(0, fill.tokens - known);
  const total = Math.max(1, known + rest);
  const rows = [...kinds, { name: "instructions and tool definitions", tokens: rest }].filter(
    ({ tokens }) => tokens > 0,
  );
  const compactions = transcript.filter(({ summary, error }) => summary && error === undefined).length;
  const gone = [
    ...left.map(({ why, count, tokens }) => row(tokens, `${why} (${count})`)),
    ...(compactions > 0 ? [`${"".padStart(COUNT_CHARS)}  ${plural(compactions, "compaction")}`] : []),
  ];
  return [
    headline(fill),
    "",
    "What fills it",
    ...rows
      .toSorted((one, other) => other.tokens - one.tokens)
      .map(({ name, tokens }) => row(tokens, `${name}, ${Math.round((100 * tokens) / total)}%`)),
    "",
    "What left it, and why",
    ...(gone.length > 0 ? gone : ["  nothing so far"]),
    ...(left.length > 0 ? ["", "The agent reads what left again with recall."] : []),
  ].join("\n");
}

const sumOf = (kinds: readonly WindowKind[]): number => kinds.reduce((sum, { tokens }) => sum + tokens, 0);

/** What the provider has counted decides: estimates that are too high are taken down to what has room. */
function scaled(kinds: readonly WindowKind[], roomTokens: number): readonly WindowKind[] {
  const known = sumOf(kinds);
  if (known <= roomTokens) return kinds;
  return kinds.map(({ name, tokens }) => ({ name, tokens: Math.round((tokens * roomTokens) / known) }));
}

/** How much of the window messages can fill: not what came before the first of them, by the first answer's usage. */
function roomOf(window: Transcript, fill: WindowFill | undefined): number {
  if (fill === undefined) return Number.POSITIVE_INFINITY;
  const first = window.findIndex(({ usage }) => usage !== undefined);
  const usage = window[first]?.usage;
  if (usage === undefined) return fill.tokens;
  const sent = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const before = sumOf(windowKinds(window.slice(0, first), 0));
  return Math.max(0, fill.tokens - Math.max(0, sent - before));
}

interface ReportSources {
  /** As OpenCode stores them. */
  readonly messages: readonly unknown[];
  readonly fill: WindowFill | undefined;
  readonly left: readonly LeftContent[];
}

function headline(fill: WindowFill | undefined): string {
  if (fill === undefined) return "No answer has come since the window was made: its size is not known yet.";
  const { tokens, limitTokens } = fill;
  const size = `${formatNumber(tokens)} tokens`;
  if (limitTokens === undefined) return `The window holds ${size}.`;
  const share = Math.round((100 * tokens) / limitTokens);
  return `The window holds ${size}: ${share}% of ${formatNumber(limitTokens)}.`;
}

const COUNT_CHARS = 6;

const row = (tokens: number, text: string): string => `${shortCount(tokens).padStart(COUNT_CHARS)}  ${text}`;

/** The sizes of a window by who wrote what, estimated. */
function windowKinds(window: Transcript, pruned: number): readonly WindowKind[] {
  const model = window.findLast((message) => message.model !== undefined)?.model;
  const options = {
    estimator: "calibrated",
    ...(model !== undefined && { family: tokenFamilyOf({ id: model.id }) }),
  } as const;
  const sums = { output: 0, answer: 0, user: 0, summary: 0 };
  for (const message of window) {
    const results = estimateResultTokens(message, options);
    const written = estimateMessageTokens(message, options) - results;
    sums.output += results;
    sums[message.summary ? "summary" : message.role === "assistant" ? "answer" : "user"] += written;
  }
  return [
    { name: "tool outputs", tokens: Math.max(0, sums.output - pruned) },
    { name: "answers and calls", tokens: sums.answer },
    { name: "your messages", tokens: sums.user },
    { name: "summaries", tokens: sums.summary },
  ];
}

interface WindowKind {
  readonly name: string;
  readonly tokens: number;
}
