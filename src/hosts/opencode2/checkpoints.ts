import type { HostMessage } from "../../plugin/host/agent-host.ts";
import type { HostCheckpoint, HostCheckpoints } from "../../plugin/host/host-parts.ts";
import { asArray, asObject, asString } from "../../text/unknown-value.ts";

/** The summaries of the host as it sends them: a message of the user, with the newest turns as text behind the summary. */
export const opencode2Checkpoints: HostCheckpoints = {
  find: (messages) => messages.flatMap((message, index) => checkpointIn(message, index)),
  write(message, summary) {
    const text = textIn(message);
    const [start] = summaryPlace(text);
    const written = `${text.slice(0, start)}${summary}${CLOSING}\n</conversation-checkpoint>`;
    const [, ...rest] = asArray(asObject(message).content);
    return { ...message, content: [{ type: "text", text: written }, ...rest] };
  },
};

/** True for a text with which the host's summary begins. */
export function isCheckpointText(text: string): boolean {
  return text.startsWith("<conversation-checkpoint>");
}

function checkpointIn(message: HostMessage, index: number): readonly HostCheckpoint[] {
  const text = asObject(message).role === "user" ? textIn(message) : "";
  if (!isCheckpointText(text)) return [];
  const [start, end] = summaryPlace(text);
  return start === -1 ? [] : [{ index, summary: withoutHeading(text.slice(start, end)) }];
}

function textIn(message: HostMessage): string {
  const [first] = asArray(asObject(message).content);
  return asString(asObject(first).text) ?? "";
}

function summaryPlace(text: string): readonly [start: number, end: number] {
  const opening = text.indexOf(OPENING);
  if (opening === -1) return [-1, -1];
  const start = opening + OPENING.length;
  const recent = text.indexOf(`${CLOSING}\n\n<recent-context>`, start);
  const end = recent === -1 ? text.lastIndexOf(CLOSING) : recent;
  return end < start ? [-1, -1] : [start, end];
}

const OPENING = "<summary>\n";
const CLOSING = "\n</summary>";

/** GA asks once more for a summary that has none of its headings. */
export const HEADING = "## Additional Context";

function withoutHeading(summary: string): string {
  return summary.startsWith(HEADING) ? summary.slice(HEADING.length).trimStart() : summary;
}
