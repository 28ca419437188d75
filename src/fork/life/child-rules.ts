import type { LimitName } from "./record.ts";

/**
 * What the child of a fork must not do, whatever its agent may. Everything else is decided by the rules of the two agents
 * (`HostSessions.createChild`) and by `ForkLimits`. Whoever withholds a tool, refuses a call or tells a model or a person
 * about it reads this table.
 */
const FORBIDDEN: Readonly<Record<ForbiddenAct, { readonly what: string; readonly instead: string }>> = {
  fork: { what: "start, steer or stop forks", instead: "Do it yourself." },
  subagent: { what: "start subagents", instead: "Do it yourself." },
  question: {
    what: "ask the user",
    instead: "Nobody answers: decide yourself, or state the blocker in your report and stop.",
  },
};

/** Something that a child must not do. */
export type ForbiddenAct = "fork" | "subagent" | "question";

/** The tools of an agent that a child must not use, by what they do. */
export type ForbiddenTools = ReadonlyMap<string, ForbiddenAct>;

/** "start forks, start subagents or ask the user": all that is forbidden. */
const ALL_FORBIDDEN = Object.values(FORBIDDEN)
  .map(({ what }) => what)
  .join(", ")
  .replace(/, ([^,]*)$/, " or $1");

/** The sentence about children for whoever starts one, and for the documentation. */
export const FORK_CANNOT: string = `A fork cannot ${ALL_FORBIDDEN}.`;

/** The sentences that a new child is given about itself. */
export const CHILD_CANNOT: string = `You cannot ${ALL_FORBIDDEN}: nobody answers. Do the work yourself; when you cannot go on, state the blocker and stop.`;

/** What a report says. */
export const REPORT_CONTENTS = "outcome, evidence as path:line, changed files, open points";

/** Why a child's call is refused that would do something forbidden. */
export function forbiddenText(act: ForbiddenAct): string {
  const { what, instead } = FORBIDDEN[act];
  return `${CHILD_START} cannot ${what}. ${instead}`;
}

/** Why a child's call of a tool is refused that the rules of an agent do not allow there. */
export function notAllowedText(tool: string): string {
  return `${CHILD_START}, and ${tool} is not allowed here. Go on without it.`;
}

const CHILD_START = "You are a fork";

/** What a child that reached a limit reads in its next request, and in place of what it calls. */
export function wrapUpText(limit: LimitName): string {
  return `${LIMIT_REASON[limit]} ${NO_MORE_CALLS} Report now: ${REPORT_CONTENTS}. Your next answer is the last one; if it is not a report, only your last text is kept.`;
}

const NO_MORE_CALLS = "No tool call is made any more.";

/** What happened at a limit, as a sentence. */
export const LIMIT_REASON: Readonly<Record<LimitName, string>> = {
  time: "The time is up.",
  "tool-calls": "All tool calls are used up.",
  "repeated-call": "The same call was made again and again.",
  "fork-cost": "The budget of this fork is spent.",
  "root-cost": "The budget for all forks of this session is spent.",
  undone: "The user has taken back the message that asked for this work.",
};

/** Why a call of a child that was stopped is not made. */
export const STOPPED_TEXT = "Nothing was done: this fork was stopped.";

/** Whether the error of a call is one of the refusals above: such a call was never made, and does not count. */
export function isRefusal(error: string): boolean {
  return error.includes(CHILD_START) || error.includes(NO_MORE_CALLS) || error.includes(STOPPED_TEXT);
}

/** The prompt for a child that ended without a report. */
export const NUDGE_TEXT: string = `You ended without a report. Report now, without another tool call: ${REPORT_CONTENTS}.`;
