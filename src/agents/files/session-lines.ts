import { createReadStream } from "node:fs";
import { readJsonLines } from "../../formats/lines/read-json-lines.ts";
import type { HostMessage } from "../../plugin/host/agent-host.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import type { FileAgent } from "./file-agent.ts";

/** The lines of a session's file, or those between two places in it; broken ones are passed over. */
export async function readLines(
  file: string,
  { start = 0, end }: FilePart = {},
): Promise<readonly HostMessage[]> {
  const lines: HostMessage[] = [];
  const until = end === undefined ? {} : { end: end - 1 };
  const source = createReadStream(file, { highWaterMark: CHUNK_BYTES, start, ...until });
  for await (const batch of readJsonLines(source))
    for (const { value } of batch) if (typeof value === "object" && value !== null) lines.push(value);
  return lines;
}

/** In bytes. */
interface FilePart {
  readonly start?: number;
  readonly end?: number | undefined;
}

const CHUNK_BYTES = 1024 * 1024;

/** The lines of a session as the plugin knows them. */
export function decodeLines(agent: FileAgent, lines: readonly unknown[]): Transcript {
  return decodeNamed(agent, lines).map(withPlainNames);
}

/** How agents name the tools of our server. */
export const OWN_TOOL: RegExp = /^mcp__(?:plugin_carryover_)?carryover__/;

function isOwnCall(part: Part): boolean {
  return part.type === "tool" && OWN_TOOL.test(part.tool);
}

/** Our tools by the names that we know them under. */
function withPlainNames(message: Message): Message {
  return message.parts.some(isOwnCall) ? { ...message, parts: message.parts.map(withPlainName) } : message;
}

function withPlainName(part: Part): Part {
  return part.type === "tool" && isOwnCall(part) ? { ...part, tool: part.tool.replace(OWN_TOOL, "") } : part;
}

/** With the names that the agent offers our tools under. */
export function decodeNamed(agent: FileAgent, lines: readonly unknown[]): Transcript {
  const ends = agent.turnEnds?.(lines) ?? NO_ENDS;
  return agent.format.decode(lines).map((message) => asOurs(agent, message, ends));
}

const NO_ENDS: ReadonlySet<string> = new Set();

/**
 * A message as the plugin knows it: what an agent wrote in the user's name is not the user's own word, and an
 * answer that ended its turn says so.
 */
function asOurs({ addedByAgent }: FileAgent, message: Message, ends: ReadonlySet<string>): Message {
  if (message.role === "assistant") {
    const isEnd = ends.has(message.id) && message.finish === undefined;
    return isEnd ? { ...message, finish: "stop" } : message;
  }
  if (message.role !== "user") return message;
  const isAdded = (text: string): boolean => addedByAgent?.test(text) ?? false;
  if (!message.parts.some((part) => part.type === "text" && isAdded(part.text))) return message;
  const parts = message.parts.map((part) =>
    part.type === "text" && isAdded(part.text) ? { ...part, synthetic: true as const } : part,
  );
  return { ...message, parts };
}
