import { asArray, asObject, jsonOrText } from "../../text/json.ts";
import {
  type Block,
  type CallBlock,
  dataUrl,
  type ImageBlock,
  type ResultBlock,
  type SessionHead,
  type Turn,
} from "./session-head.ts";

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
      const payload = itemOf(role, block, kinds.get("id" in block ? block.id : "") ?? "function");
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

function itemOf(role: Turn["role"], block: Block, kind: CallKind): object {
  switch (block.type) {
    case "text": {
      const type = role === "user" ? "input_text" : "output_text";
      return { type: "message", role, content: [{ type, text: block.text }] };
    }
    case "image":
      return { type: "message", role, content: [imageOf(block)] };
    case "call":
      return callOf(block, kind);
    case "result":
      return resultOf(block, kind);
    default:
      return block satisfies never;
  }
}

function callOf({ id: call_id, tool: name, input }: CallBlock, kind: CallKind): object {
  const done = { call_id, status: "completed" };
  if (kind === "patch") return { type: "custom_tool_call", ...done, name, input: asObject(input).input };
  if (kind === "search") return { type: "tool_search_call", ...done, execution: "client", arguments: input };
  return { type: "function_call", name, arguments: JSON.stringify(input), call_id };
}

function resultOf({ id: call_id, text, images = [] }: ResultBlock, kind: CallKind): object {
  if (kind === "search") {
    // A list that was shortened is none any more.
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
  return { type, call_id, output: [...texts, ...images.map(imageOf)] };
}

function imageOf(image: ImageBlock): object {
  return { type: "input_image", image_url: dataUrl(image) };
}
