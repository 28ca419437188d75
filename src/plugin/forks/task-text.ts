import { CHILD_CANNOT, REPORT_CONTENTS } from "../../fork/life/child-rules.ts";
import type { Inherited } from "./inherit.ts";

/** The last message of a new child: what it inherited, what it is, and its task. */
export function taskText({ number, task, inherited, profile }: TaskTextInput): string {
  if (profile === "documented")
    return inherited.mode === "none" ? `${nothing(inherited.reason)}\n\n${task}` : task;
  // A text child has read its preamble already, in front of the text.
  const about =
    inherited.mode === "none"
      ? nothing(inherited.reason)
      : inherited.mode === "text"
        ? undefined
        : inherited.preamble;
  return [about, roleText(number, inherited.mode), `<task>\n${task}\n</task>`]
    .filter((block) => block !== undefined)
    .join("\n\n");
}

interface TaskTextInput {
  readonly number: number;
  readonly task: string;
  readonly inherited: Inherited;
  readonly profile: "default" | "documented";
}

function roleText(number: number, way: Inherited["mode"]): string {
  const above =
    way === "none"
      ? ""
      : " Everything above is background from the parent agent and ended there: its open steps are not yours.";
  return (
    `You are fork ${number}, a background agent.${above} Do only the task below. ` +
    `${CHILD_CANNOT} End with a report: ${REPORT_CONTENTS}.`
  );
}

function nothing(reason: string): string {
  return `No context was inherited from the parent session: ${reason}. You know only what follows; read whatever you need.`;
}
