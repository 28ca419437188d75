import {
  isAnswer,
  type Message,
  type MessageError,
  type MessageId,
  messageText,
} from "../../transcript/message.ts";
import type { ChildFinding } from "./events.ts";
import type { ForkError } from "./record.ts";

/**
 * What the child's stored messages say about our newest prompt. It is answered by a finished message after it that is
 * no summary, no error and no tool step.
 */
export function checkChild(child: ChildView): ChildFinding {
  const { messages, promptMessageId, status, changedFiles = [] } = child;
  if (status !== "idle") return { type: "working" };
  const promptIndex =
    promptMessageId === undefined ? -1 : messages.findLastIndex(({ id }) => id === promptMessageId);
  if (promptIndex === -1) return { type: "unprompted" };

  const answers = messages.slice(promptIndex + 1).filter(isAnswer);
  const lastText = answers.map(messageText).findLast((text) => text.trim() !== "") ?? "";
  const last = answers.at(-1);
  if (last?.error !== undefined) {
    return { type: "failed", error: (child.readError ?? plainError)(last.error), lastText, changedFiles };
  }
  if (last === undefined || !isFinished(last)) return { type: "stopped", lastText, changedFiles };
  return { type: "finished", text: messageText(last), lastText, changedFiles };
}

interface ChildView {
  /** All that is stored of the child, oldest first, or at least everything from our newest prompt on. */
  readonly messages: readonly Message[];
  /** Unset when the prompt could not be found. */
  readonly promptMessageId?: MessageId;
  readonly status: "busy" | "retry" | "idle";
  readonly changedFiles?: readonly string[];
  /** The class of a provider's error; without it the host's name of the error. */
  readonly readError?: (error: MessageError) => ForkError;
}

/** Whether an answer ended its turn. */
export function isFinished({ finish, unfinished }: Message): boolean {
  return unfinished !== true && finish !== undefined && !NOT_AN_END.includes(finish);
}

/** As the agents call it: OpenCode, Claude Code, pi. */
const NOT_AN_END: readonly string[] = ["tool-calls", "tool_use", "toolUse", "error"];

function plainError({ name, text }: MessageError): ForkError {
  return { kind: /abort/i.test(name) ? "aborted" : name, message: text === "" ? name : text };
}
