import { checkChild } from "../../fork/life/check-child.ts";
import { isRefusal } from "../../fork/life/child-rules.ts";
import type { ChildFinding } from "../../fork/life/events.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { AgentHost, HostMessage, SessionStatus, StoredSession } from "../host/agent-host.ts";

/** What a child's messages and status say about our newest prompt to it. */
export function inspectChild(
  host: AgentHost,
  { stored, status, messageId, key }: ChildInspection,
): ChildFinding {
  const { messages, lastError } = stored;
  const transcript = host.format.decode(messages);
  const keyed = new Set(
    host.format.notesIn(messages).flatMap((note) => (note.promptKey === key ? [note.messageId] : [])),
  );
  const prompt =
    transcript.findLast(({ id }) => id === messageId || keyed.has(id)) ??
    // A prompt that the agent no longer shows stands behind its summary.
    (stored.isPartial ? transcript.findLast(({ summary }) => summary) : undefined);
  const finding = checkChild({
    messages: transcript,
    ...(prompt === undefined ? {} : { promptMessageId: prompt.id }),
    status,
    changedFiles: changedFiles(host, transcript),
    // The agent's own error says more than its name and text.
    readError: ({ name, text }) => lastError ?? { kind: name, message: text },
  });
  // What the child wrote before its newest prompt, such as a steer, is of this run too.
  return "lastText" in finding && finding.lastText === ""
    ? { ...finding, lastText: lastReport(host, messagesOfRun(host, messages, key)).lastText }
    : finding;
}

interface ChildInspection {
  readonly stored: StoredSession;
  readonly status: SessionStatus;
  readonly messageId: string | undefined;
  readonly key: string;
}

/** The messages of the run that a prompt key belongs to. */
export function messagesOfRun(
  { format }: AgentHost,
  messages: readonly HostMessage[],
  key: string,
): readonly HostMessage[] {
  const first = `${key.slice(0, key.lastIndexOf("."))}.1`;
  const start = format.notesIn(messages).find(({ promptKey }) => promptKey === first);
  return start === undefined ? messages : messages.slice(start.index);
}

/** How many tool calls the child made, without those that were refused before they were counted. */
export function countCalls({ format }: AgentHost, messages: readonly HostMessage[]): number {
  return format
    .decode(messages)
    .flatMap(({ parts }) => parts)
    .filter(
      (part) => part.type === "tool" && !(part.outcome.status === "failed" && isRefusal(part.outcome.error)),
    ).length;
}

/** The newest text that the child wrote, and the files that it changed. */
export function lastReport(host: AgentHost, messages: readonly HostMessage[]): ChildReport {
  const transcript = host.format.decode(messages);
  const texts = transcript
    .filter(({ role, summary }) => role === "assistant" && summary !== true)
    .map(writtenText);
  return {
    lastText: texts.findLast((text) => text !== "") ?? "",
    changedFiles: changedFiles(host, transcript),
  };
}

/** What is left of a child that was stopped. */
export interface ChildReport {
  readonly lastText: string;
  readonly changedFiles: readonly string[];
}

function writtenText({ parts }: Message): string {
  return parts
    .flatMap((part) => (part.type === "text" && !part.ignored && !part.synthetic ? [part.text] : []))
    .join("\n")
    .trim();
}

function changedFiles({ tools }: AgentHost, transcript: Transcript): readonly string[] {
  const files = transcript
    .flatMap(({ parts }) => parts)
    .flatMap((part) =>
      part.type === "tool" && part.outcome.status === "done" ? tools.writtenFiles(part.tool, part.input) : [],
    );
  return [...new Set(files)];
}
