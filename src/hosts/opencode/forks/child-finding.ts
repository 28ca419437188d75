import { classifyProviderError } from "../../../compaction/classify-provider-error.ts";
import { fields, stringField } from "../../../formats/fields.ts";
import { opencode } from "../../../formats/opencode/opencode.ts";
import type { SessionMessage } from "../../../formats/opencode/session-message.ts";
import { checkChild } from "../../../tasks/check-child.ts";
import type { ChildFinding } from "../../../tasks/fork-event.ts";
import type { ForkError } from "../../../tasks/fork-record.ts";
import { writtenFiles } from "./written-files.ts";

/** What a child's messages and status say about our newest prompt to it. */
export function childFinding({ messages, status, messageId, key }: ChildLook): ChildFinding {
  const prompt = messages.findLast(
    ({ info, parts }) => info.id === messageId || parts.some((part) => promptKeyOf(part) === key),
  );
  const failed = messages.findLast(({ info }) => info.role === "assistant")?.info.error;
  const finding = checkChild({
    messages: opencode.decode(messages),
    ...(prompt?.info.id === undefined ? {} : { promptMessageId: prompt.info.id }),
    status,
    changedFiles: changedFiles(messages),
    // The host's own error says more than its name and text.
    readError: ({ name, text }) => readChildError(failed) ?? { kind: name, message: text },
  });
  // What the child wrote before its newest prompt, such as the one to wrap up, is of this run too.
  return "lastText" in finding && finding.lastText === ""
    ? { ...finding, lastText: lastWords(runOf(messages, key)).lastText }
    : finding;
}

/** The messages of the run that a prompt key belongs to. */
export function runOf(messages: readonly SessionMessage[], key: string): readonly SessionMessage[] {
  const first = `${key.slice(0, key.lastIndexOf("."))}.1`;
  const start = messages.findIndex(({ parts }) => parts.some((part) => promptKeyOf(part) === first));
  return start === -1 ? messages : messages.slice(start);
}

export interface ChildLook {
  readonly messages: readonly SessionMessage[];
  readonly status: "busy" | "retry" | "idle";
  readonly messageId: string | undefined;
  readonly key: string;
}

/** The key of the prompt of ours that a part holds, if it does. */
export function promptKeyOf(part: unknown): unknown {
  return fields(fields(fields(part).metadata).carryover).prompt;
}

/** The newest text that the child wrote, and the files that it changed. */
export function lastWords(messages: readonly SessionMessage[]): {
  readonly lastText: string;
  readonly changedFiles: readonly string[];
} {
  const spoken = messages.findLast(
    (message) =>
      message.info.role === "assistant" && message.info.summary !== true && textOf(message).trim() !== "",
  );
  return { lastText: spoken === undefined ? "" : textOf(spoken), changedFiles: changedFiles(messages) };
}

/** An error of the host as the life of a fork knows it. */
export function readChildError(error: unknown): ForkError | undefined {
  if (error === undefined || error === null) return undefined;
  const { name, data } = fields(error);
  if (name === "MessageAbortedError") return { kind: "aborted", message: "it was stopped" };
  const { message, responseHeaders } = fields(data);
  const retryAfterS = Number(fields(responseHeaders)["retry-after"]);
  return {
    kind: classifyProviderError(data ?? error).class,
    message: (stringField(message) ?? stringField(name) ?? "unknown error").slice(0, MAX_MESSAGE_CHARS),
    ...(retryAfterS > 0 ? { retryAfterMs: retryAfterS * 1_000 } : {}),
  };
}

const MAX_MESSAGE_CHARS = 1_000;

function textOf({ parts }: SessionMessage): string {
  return parts
    .filter((part) => part.type === "text" && part.ignored !== true && part.synthetic !== true)
    .map((part) => String(part.text ?? ""))
    .join("\n")
    .trim();
}

function changedFiles(messages: readonly SessionMessage[]): readonly string[] {
  const done = messages
    .flatMap(({ parts }) => parts)
    .filter((part) => part.type === "tool" && fields(part.state).status === "completed");
  return [...new Set(done.flatMap((part) => writtenFiles(String(part.tool), fields(part.state).input)))];
}
