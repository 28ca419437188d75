import { classifyProviderError } from "../../compaction/provider-errors/classify-provider-error.ts";
import type { ChildFinding } from "../../fork/life/events.ts";
import type { ForkError } from "../../fork/life/record.ts";
import { checkChild } from "../../fork/life/watch.ts";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import type { SessionMessage } from "../../formats/wires/opencode/session-message.ts";
import { asObject, asString } from "../../text/json.ts";

/** What a child's messages and status say about our newest prompt to it. */
export function inspectChild({ messages, status, messageId, key }: ChildLook): ChildFinding {
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
    ? { ...finding, lastText: lastReport(runOf(messages, key)).lastText }
    : finding;
}

/** The messages of the run that a prompt key belongs to. */
export function runOf(messages: readonly SessionMessage[], key: string): readonly SessionMessage[] {
  const first = `${key.slice(0, key.lastIndexOf("."))}.1`;
  const start = messages.findIndex(({ parts }) => parts.some((part) => promptKeyOf(part) === first));
  return start === -1 ? messages : messages.slice(start);
}

interface ChildLook {
  readonly messages: readonly SessionMessage[];
  readonly status: "busy" | "retry" | "idle";
  readonly messageId: string | undefined;
  readonly key: string;
}

/** The key of the prompt of ours that a part holds, if it does. */
export function promptKeyOf(part: unknown): unknown {
  return asObject(asObject(asObject(part).metadata).carryover).prompt;
}

/** The newest text that the child wrote, and the files that it changed. */
export function lastReport(messages: readonly SessionMessage[]): {
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
  const { name, data } = asObject(error);
  if (name === "MessageAbortedError") return { kind: "aborted", message: "it was stopped" };
  const { message, responseHeaders } = asObject(data);
  const retryAfterS = Number(asObject(responseHeaders)["retry-after"]);
  return {
    kind: classifyProviderError(data ?? error).class,
    message: (asString(message) ?? asString(name) ?? "unknown error").slice(0, MAX_MESSAGE_CHARS),
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
    .filter((part) => part.type === "tool" && asObject(part.state).status === "completed");
  return [...new Set(done.flatMap((part) => writtenFiles(String(part.tool), asObject(part.state).input)))];
}

/** The files that a call of one of the host's tools writes, as the call names them. */
export function writtenFiles(tool: string, input: unknown): readonly string[] {
  const { filePath, path, patchText } = asObject(input);
  if (WRITING_TOOLS.has(tool)) {
    const file = asString(filePath) ?? asString(path);
    return file === undefined ? [] : [file];
  }
  if (tool !== "apply_patch" && tool !== "patch") return [];
  return [...(asString(patchText) ?? "").matchAll(PATCHED_FILE)].map((match) => (match[1] ?? "").trim());
}

const WRITING_TOOLS: ReadonlySet<string> = new Set(["write", "edit", "multiedit"]);

const PATCHED_FILE = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm;
