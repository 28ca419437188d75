import type { Message, MessageError, MessageId } from "../transcript/message.ts";
import type { ChildFinding } from "./fork-event.ts";
import type { ForkError } from "./fork-record.ts";

/** What the child's stored messages say about our newest prompt: answered means a finished message after it that is no summary, no error and no tool step. */
export function checkChild(child: ChildView): ChildFinding {
  const { messages, promptMessageId, status, changedFiles = [] } = child;
  if (status !== "idle") return { type: "working" };
  const promptIndex =
    promptMessageId === undefined ? -1 : messages.findLastIndex(({ id }) => id === promptMessageId);
  if (promptIndex === -1) return { type: "unprompted" };

  const answers = messages
    .slice(promptIndex + 1)
    .filter((message) => message.role === "assistant" && message.summary !== true);
  const lastText = answers.map(textOf).findLast((text) => text.trim() !== "") ?? "";
  const last = answers.at(-1);
  if (last?.error !== undefined) {
    return { type: "failed", error: (child.readError ?? plainError)(last.error), lastText, changedFiles };
  }
  if (last === undefined || !isFinished(last)) return { type: "stopped", lastText, changedFiles };
  return { type: "finished", text: textOf(last), lastText, changedFiles };
}

export interface ChildView {
  /** All that is stored of the child, oldest first, or at least everything from our newest prompt on. */
  readonly messages: readonly Message[];
  /** Unset when the prompt could not be found. */
  readonly promptMessageId?: MessageId;
  readonly status: "busy" | "retry" | "idle";
  readonly changedFiles?: readonly string[];
  /** The class of a provider's error; without it the host's name of the error. */
  readonly readError?: (error: MessageError) => ForkError;
}

function isFinished({ finish, unfinished }: Message): boolean {
  return unfinished !== true && finish !== undefined && !NOT_AN_END.includes(finish);
}

const NOT_AN_END: readonly string[] = ["tool-calls", "tool_use", "error"];

/** What the child said; what it thought is its own. */
function textOf(message: Message): string {
  return message.parts
    .flatMap((part) => (part.type === "text" && part.ignored !== true ? [part.text] : []))
    .join("\n");
}

function plainError({ name, text }: MessageError): ForkError {
  return { kind: /abort/i.test(name) ? "aborted" : name, message: text === "" ? name : text };
}
