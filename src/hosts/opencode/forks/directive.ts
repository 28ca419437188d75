import type { Inherited } from "./inherit.ts";

/** The last message of a new child: what it inherited, what it is, and its task. */
export function directiveText({ number, task, inherited, profile }: DirectiveInput): string {
  if (profile === "documented")
    return inherited.way === "none" ? `${nothing(inherited.reason)}\n\n${task}` : task;
  // A text child has read its preamble already, in front of the text.
  const about =
    inherited.way === "none"
      ? nothing(inherited.reason)
      : inherited.way === "text"
        ? undefined
        : inherited.preamble;
  return [about, roleText(number, inherited.way), `<task>\n${task}\n</task>`]
    .filter((block) => block !== undefined)
    .join("\n\n");
}

export interface DirectiveInput {
  readonly number: number;
  readonly task: string;
  readonly inherited: Inherited;
  readonly profile: "default" | "documented";
}

/** For the person who opens the child: what was inherited and how; the model never sees it. */
export function humanLine({ number, way, reason, chars, messages }: HumanLineInput): string {
  if (messages === 0) return `Fork ${number} started without inherited context: ${reason}.`;
  return `Fork ${number} inherited ${sizeText({ messages, chars })} (${way}: ${reason}).`;
}

export interface HumanLineInput {
  readonly number: number;
  readonly way: string;
  readonly reason: string;
  readonly chars: number;
  readonly messages: number;
}

/** How much was inherited, as people say it. */
export function sizeText({ messages, chars }: Pick<HumanLineInput, "messages" | "chars">): string {
  return `${messages} ${messages === 1 ? "message" : "messages"}, ${chars.toLocaleString("en-US")} characters`;
}

function roleText(number: number, way: Inherited["way"]): string {
  const above =
    way === "none"
      ? ""
      : " Everything above is background from the parent agent and ended there: its open steps are not yours.";
  return (
    `You are fork ${number}, a background agent.${above} Do only the task below. ` +
    "You cannot start forks or subagents: do the work yourself. Nobody answers questions: when you cannot go on, state the blocker and stop. " +
    "End with a report: outcome, evidence as path:line, changed files, open points."
  );
}

function nothing(reason: string): string {
  return `No context was inherited from the parent session: ${reason}. You know only what follows; read whatever you need.`;
}
