import { currentRun, type EndedRun, isLive } from "../fork/life/record.ts";
import { activityOf } from "../fork/life/roster.ts";
import { forkFacts } from "../plugin/forks/shown-forks.ts";
import { isHeld, type RecordedForks } from "../plugin/stores/recorded-forks.ts";
import { clipLine } from "../text/clip.ts";
import { normalizeText } from "../text/normalize.ts";
import { redactSecrets } from "../text/secrets/redact-secrets.ts";

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

/** Chosen by a model: one line without escape sequences and secrets. */
export function plainLine(text: string, maxChars: number): string {
  return clipLine(redactSecrets(normalizeText(text.slice(0, MAX_READ_CHARS))), maxChars);
}

/** The sidebar has 36 columns, of which two are left empty. */
const SIDEBAR_CHARS = 34;

/** A row of a large dialog, also where the terminal has 80 columns. */
const LIST_CHARS = 70;
const MAX_READ_CHARS = 8_192;
export const MAX_TITLE_CHARS = 32;
export const MAX_STEP_CHARS = 32;
