import { isCleared } from "../../src/transcript/content.ts";
import { isVisibleToModel, type Message, type Transcript } from "../../src/transcript/message.ts";
import type { Part, ToolOutcome, ToolPart } from "../../src/transcript/part.ts";

export { deepFreeze } from "../../src/testing/format-contract.ts";

/**
 * A transcript from one line: `u:10 a:5(bash:90,read!20) s:30 m`.
 *
 * `u` user, `a` assistant, `s` summary, `m` compaction marker, `y` system; `:10` a text of ten characters;
 * in brackets tool calls with their output length: `bash:90` done, `bash!90` failed, `bash~90` cleared, `bash?` pending.
 */
export function transcript(notation: string): Transcript {
  const words = notation.split(" ").filter((word) => word !== "");
  const messages: Message[] = [];
  for (const [index, word] of words.entries()) messages.push(parseMessage(word, index, messages));
  return messages;
}

/** The visible part of a transcript in the same notation. */
export function notate(messages: Transcript): string {
  return messages.filter(isVisibleToModel).map(notateMessage).join(" ");
}

function parseMessage(word: string, index: number, earlier: readonly Message[]): Message {
  const match = /^([uasmy])(?::(\d+))?(?:\((.*)\))?$/.exec(word);
  if (match === null)
    throw new Error(`cannot read ${JSON.stringify(word)} as a message; write it like u:10 or a:5(bash:90)`);
  const [, kind = "u", chars, calls] = match;
  const id = `m${index + 1}`;
  const parts: Part[] = [];
  if (kind === "m") parts.push({ type: "compaction", trigger: "auto" });
  if (chars !== undefined) parts.push({ type: "text", text: filler(Number(chars), index) });
  if (calls !== undefined)
    parts.push(...calls.split(",").map((call, n) => parseCall(call, `${id}-call-${n + 1}`)));
  const role = ROLES[kind as keyof typeof ROLES];
  const marker = earlier.findLast((message) => message.parts.some((part) => part.type === "compaction"));
  return {
    id,
    role,
    parts,
    ...(role === "assistant" && { finish: "stop" }),
    ...(kind === "s" && { summary: true as const, ...(marker && { parentId: marker.id }) }),
  };
}

const ROLES = { u: "user", a: "assistant", s: "assistant", m: "user", y: "system" } as const;

function parseCall(word: string, callId: string): ToolPart {
  const match = /^([\w-]+)([:!~?])(\d*)$/.exec(word);
  if (match === null) throw new Error(`cannot read ${JSON.stringify(word)} as a call; write it like bash:90`);
  const [, tool = "", mark = "?", chars = ""] = match;
  const text = filler(Number(chars), chars.length);
  const outcome: ToolOutcome =
    mark === "?"
      ? { status: "pending" }
      : mark === "!"
        ? { status: "failed", error: text }
        : { status: "done", output: text, attachments: [] };
  return { type: "tool", callId, tool, input: {}, outcome, ...(mark === "~" && { clearedAt: 1 }) };
}

function notateMessage(message: Message): string {
  const visible = message.parts.filter((part) => part.agentVisible !== false);
  const texts = visible.filter((part) => part.type === "text");
  const calls = visible.filter((part) => part.type === "tool");
  const kind = visible.some((part) => part.type === "compaction")
    ? "m"
    : message.summary
      ? "s"
      : message.role === "system"
        ? "y"
        : message.role.charAt(0);
  const chars = texts.reduce((sum, part) => sum + part.text.length, 0);
  return `${kind}${texts.length > 0 ? `:${chars}` : ""}${calls.length > 0 ? `(${calls.map(notateCall).join(",")})` : ""}`;
}

function notateCall(part: ToolPart): string {
  const { outcome, tool } = part;
  if (outcome.status === "pending") return `${tool}?`;
  if (outcome.status === "failed") return `${tool}!${outcome.error.length}`;
  return `${tool}${isCleared(part) ? "~" : ":"}${outcome.output.length}`;
}

/** Text of a given length that says nothing, different from place to place. */
function filler(chars: number, seed: number): string {
  return "abcdefghijklmnopqrstuvwxyz".charAt(seed % 26).repeat(chars);
}
