import { checkChild } from "../../fork/life/advance.ts";
import type { ChildFinding } from "../../fork/life/events.ts";
import type { ForkRecord } from "../../fork/life/record.ts";
import { quoteChild } from "../../fork/life/report.ts";
import { type ForkMetadata, forkMetadata, readForkMetadata } from "../../fork/life/stored-record.ts";
import { asObject } from "../../text/json.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { renderMessage } from "../../transcript/render.ts";
import type { AgentHost, HostMessage, HostSignal, SessionStatus, StoredSession } from "../host/agent-host.ts";
import { createLruMap } from "../host/features.ts";

/** What links a child session to its fork: the note that the session carries. */
export interface ForkLink extends ForkMetadata {
  /** What people call the fork; unset in sessions from before it was kept. */
  readonly number?: number;
}

/** Which sessions are children of forks; the agent is asked once for each session that was used lately. */
export interface ForkLinks {
  linkOf(sessionId: string): Promise<ForkLink | undefined>;
  set(sessionId: string, link: ForkLink): void;
  observe(signal: HostSignal): void;
}

export function createForkLinks({ sessions }: Pick<AgentHost, "sessions">): ForkLinks {
  const links = createLruMap<string, Promise<ForkLink | undefined>>(MAX_SESSIONS);
  return {
    linkOf(sessionId) {
      const known = links.get(sessionId);
      if (known !== undefined) return known;
      const asked = sessions.get(sessionId).then((answer) => {
        if (answer.status === "ok") return readForkLink(answer.value.note);
        links.delete(sessionId);
        return undefined;
      });
      links.set(sessionId, asked);
      return asked;
    },
    set: (sessionId, link) => links.set(sessionId, Promise.resolve(link)),
    observe(signal) {
      if (signal.type === "deleted") links.delete(signal.sessionId);
      else if (signal.type === "created")
        links.set(signal.session.id, Promise.resolve(readForkLink(signal.session.note)));
    },
  };
}

const MAX_SESSIONS = 4_096;

/** The note for the session of a fork's child. */
export function forkLinkOf(record: ForkRecord): ForkLink {
  return { ...forkMetadata(record), number: record.number };
}

/** The link in the note of a session, if it is the child of a fork. */
export function readForkLink(note: unknown): ForkLink | undefined {
  const metadata = readForkMetadata(note);
  const { number } = asObject(note);
  return metadata && { ...metadata, ...(Number.isSafeInteger(number) && { number: number as number }) };
}

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
      (part) =>
        part.type === "tool" && !(part.outcome.status === "failed" && REFUSED.test(part.outcome.error)),
    ).length;
}

/** What the guards and the limits of children say. */
const REFUSED = /You are a fork|Nothing was done: this fork|No tool call is made any more\./;

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

/** What stands in the session of a child, as text for its parent. */
export async function transcriptOf(
  { sessions, format }: Pick<AgentHost, "sessions" | "format">,
  record: ForkRecord,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<string> {
  if (record.childSessionId === undefined) return `Fork ${record.number} has not started yet.`;
  const stored = await sessions.read(record.childSessionId);
  if (stored.status === "failed")
    return `The transcript of fork ${record.number} cannot be read: ${stored.reason}`;
  const messages = format.decode(stored.value.messages);
  const shown: string[] = [];
  let usedChars = 0;
  for (const [index, message] of messages.entries()) {
    if (index < after) continue;
    const text = `[${index + 1}] ${quoteChild(renderMessage(message), MESSAGE_CHARS)}`;
    usedChars += text.length;
    if (shown.length >= limit || usedChars > TRANSCRIPT_CHARS) break;
    shown.push(text);
  }
  const until = after + shown.length;
  const rest = messages.length > until ? ` More: after ${until}.` : "";
  return [
    `Messages ${after + 1} to ${until} of ${messages.length} of fork ${record.number}.${rest}`,
    ...shown,
  ].join("\n");
}

const MESSAGE_CHARS = 2_000;

const TRANSCRIPT_CHARS = 30_000;
