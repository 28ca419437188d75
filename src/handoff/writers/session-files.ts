import { jsonOrText } from "../../text/json.ts";
import { asArray, asObject } from "../../text/unknown-value.ts";
import type { ModelRef } from "../../transcript/message.ts";

/**
 * A session of Claude Code: one line a turn, each with the id of the one before. Without `uuid`, `parentUuid` or
 * `timestamp` it finds no conversation, or only the last line.
 */
export function writeClaudeCode(
  turns: readonly Turn[],
  { id, cwd, at, newId }: SessionHead,
): readonly object[] {
  let parentUuid: string | null = null;
  return turns.map(({ role, blocks }) => {
    const uuid = newId();
    const line = {
      parentUuid,
      isSidechain: false,
      userType: "external",
      type: role,
      message: { role, content: blocks.map(claudeContent) },
      uuid,
      timestamp: new Date(at).toISOString(),
      sessionId: id,
      cwd,
    };
    parentUuid = uuid;
    return line;
  });
}

function claudeContent(block: Block): object {
  switch (block.type) {
    case "text":
      return block;
    case "image":
      return claudeImage(block);
    case "call":
      return { type: "tool_use", id: block.id, name: block.tool, input: block.input };
    case "result":
      return {
        type: "tool_result",
        tool_use_id: block.id,
        content:
          block.images === undefined || block.images.length === 0
            ? block.text
            : [...claudeTexts(block.text), ...block.images.map(claudeImage)],
        ...(block.isError && { is_error: true }),
      };
    default:
      return block satisfies never;
  }
}

function claudeTexts(text: string): readonly object[] {
  return text === "" ? [] : [{ type: "text", text }];
}

function claudeImage({ mime, base64 }: ImageBlock): object {
  return { type: "image", source: { type: "base64", media_type: mime, data: base64 } };
}

/**
 * A rollout of Codex: its metadata, then the items of the Responses API, which the model is sent, and behind each text
 * the event by which its terminal shows the conversation. It needs `originator` and `cli_version`.
 */
export function writeCodex(turns: readonly Turn[], { id, cwd, at }: SessionHead): readonly object[] {
  const timestamp = new Date(at).toISOString();
  const meta = { id, timestamp, cwd, originator: "carryover", cli_version: "0.0.0", source: "cli" };
  const kinds = new Map<string, CallKind>();
  const records = turns.flatMap(({ role, blocks }) =>
    blocks.flatMap((block): readonly object[] => {
      if (block.type === "call") kinds.set(block.id, kindOf(block));
      const payload = codexItem(role, block, kinds.get("id" in block ? block.id : "") ?? "function");
      const item = { timestamp, type: "response_item", payload };
      if (block.type !== "text") return [item];
      const type = role === "user" ? "user_message" : "agent_message";
      return [item, { timestamp, type: "event_msg", payload: { type, message: block.text } }];
    }),
  );
  return [{ timestamp, type: "session_meta", payload: meta }, ...records];
}

/** Calls that Codex keeps in a form of their own: a patch, which is a text, and a search for tools. */
type CallKind = "function" | "patch" | "search";

function kindOf({ tool, input }: CallBlock): CallKind {
  if (tool === "apply_patch" && typeof asObject(input).input === "string") return "patch";
  return tool === "tool_search" ? "search" : "function";
}

function codexItem(role: Turn["role"], block: Block, kind: CallKind): object {
  switch (block.type) {
    case "text": {
      const type = role === "user" ? "input_text" : "output_text";
      return { type: "message", role, content: [{ type, text: block.text }] };
    }
    case "image":
      return { type: "message", role, content: [codexImage(block)] };
    case "call":
      return codexCall(block, kind);
    case "result":
      return codexResult(block, kind);
    default:
      return block satisfies never;
  }
}

function codexCall({ id: call_id, tool: name, input }: CallBlock, kind: CallKind): object {
  const done = { call_id, status: "completed" };
  if (kind === "patch") return { type: "custom_tool_call", ...done, name, input: asObject(input).input };
  if (kind === "search") return { type: "tool_search_call", ...done, execution: "client", arguments: input };
  return { type: "function_call", name, arguments: JSON.stringify(input), call_id };
}

function codexResult({ id: call_id, text, images = [] }: ResultBlock, kind: CallKind): object {
  if (kind === "search") {
    // A list that was shortened cannot be parsed any more.
    const tools = asArray(jsonOrText(text));
    const shortened = tools.length === 0 ? { shortened: text } : {};
    return {
      type: "tool_search_output",
      call_id,
      status: "completed",
      execution: "client",
      tools,
      ...shortened,
    };
  }
  const type = kind === "patch" ? "custom_tool_call_output" : "function_call_output";
  if (images.length === 0) return { type, call_id, output: text };
  const texts = text === "" ? [] : [{ type: "input_text", text }];
  return { type, call_id, output: [...texts, ...images.map(codexImage)] };
}

function codexImage(image: ImageBlock): object {
  return { type: "input_image", image_url: dataUrl(image) };
}

/** A session of pi: its head, then entries in a chain. It needs the usage of every answer. */
export function writePi(turns: readonly Turn[], { id, cwd, at }: SessionHead): readonly object[] {
  const timestamp = new Date(at).toISOString();
  const messages = turns.flatMap((turn) => (turn.role === "user" ? piUserMessages(turn) : [piAnswer(turn)]));
  const entries = messages.map((message, index) => ({
    type: "message",
    id: entryId(index + 1),
    parentId: index === 0 ? null : entryId(index),
    timestamp,
    message: { ...message, timestamp: at },
  }));
  return [{ type: "session", version: 3, id, timestamp, cwd }, ...entries];
}

function entryId(number: number): string {
  return number.toString(16).padStart(8, "0");
}

/** Results are messages of their own, before what the user says. */
function piUserMessages({ blocks }: Turn): readonly object[] {
  const results = blocks.filter((block) => block.type === "result").map(piResult);
  const said = blocks.filter((block) => block.type === "text" || block.type === "image").map(piContent);
  return said.length === 0 ? results : [...results, { role: "user", content: said }];
}

function piResult({ id, tool, text, images = [], isError }: ResultBlock): object {
  const content = [{ type: "text", text }, ...images.map(piContent)];
  return { role: "toolResult", toolCallId: id, toolName: tool, content, isError };
}

function piAnswer({ blocks }: Turn): object {
  const content = blocks.map(piContent);
  const hasCalls = blocks.some(({ type }) => type === "call");
  return {
    role: "assistant",
    content,
    api: "carryover",
    provider: "carryover",
    model: "carryover",
    usage: NO_USAGE,
    stopReason: hasCalls ? "toolUse" : "stop",
  };
}

function piContent(block: Block): object {
  if (block.type === "image") return { type: "image", data: block.base64, mimeType: block.mime };
  if (block.type !== "call") return block;
  return { type: "toolCall", id: block.id, name: block.tool, arguments: block.input };
}

const NO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const NO_USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: NO_COST };

/** What a session file says of itself. */
export interface SessionHead {
  /** A UUID of its own. */
  readonly id: string;
  /** The folder of the project, where the receiver goes on. */
  readonly cwd: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly title: string;
  /** The model that goes on. OpenCode 1 asks the one that the newest message names; the others ask the user's own. */
  readonly model?: ModelRef;
  /** A new UUID. */
  readonly newId: () => string;
}

/** A turn of a conversation that every provider takes: calls are answered in the turn behind theirs. */
export interface Turn {
  readonly role: "user" | "assistant";
  readonly blocks: readonly Block[];
}

export type Block = TextBlock | ImageBlock | CallBlock | ResultBlock;

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

export interface ImageBlock {
  readonly type: "image";
  readonly mime: string;
  readonly base64: string;
}

/** An image as the address that holds it. */
export function dataUrl({ mime, base64 }: ImageBlock): string {
  return `data:${mime};base64,${base64}`;
}

export interface CallBlock {
  readonly type: "call";
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}

export interface ResultBlock {
  readonly type: "result";
  readonly id: string;
  readonly tool: string;
  readonly text: string;
  readonly images?: readonly ImageBlock[];
  readonly isError: boolean;
}
