import type { ForkRecord } from "../../fork/life/record.ts";
import { quoteChild } from "../../fork/life/report.ts";
import { renderMessage } from "../../transcript/content.ts";
import type { AgentHost } from "../host/agent-host.ts";

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
