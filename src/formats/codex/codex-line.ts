import { type Fields, fields, stringField } from "../fields.ts";

/** What a line of a rollout is about. */
export type CodexLine =
  | { readonly type: "item"; readonly item: Fields }
  | { readonly type: "compacted"; readonly payload: Fields }
  | { readonly type: "usage"; readonly usage: Fields }
  | { readonly type: "rolled-back"; readonly turns: number }
  | { readonly type: "model"; readonly model: string | undefined; readonly provider: string | undefined }
  | { readonly type: "other" };

/** Reads a line: newer rollouts wrap what they hold in a payload, the oldest hold bare items. */
export function codexLine(value: unknown): CodexLine {
  const line = fields(value);
  const payload = fields(line.payload);
  switch (line.type) {
    case "response_item":
      return ITEMS.has(`${payload.type}`) ? { type: "item", item: payload } : OTHER;
    case "compacted":
      return { type: "compacted", payload };
    case "event_msg":
      return readEvent(payload);
    case "turn_context":
      return { type: "model", model: stringField(payload.model), provider: undefined };
    case "session_meta":
      return { type: "model", model: undefined, provider: stringField(payload.model_provider) };
    default:
      return line.payload === undefined && ITEMS.has(`${line.type}`) ? { type: "item", item: line } : OTHER;
  }
}

/** The line with another item in it. */
export function withItem(value: unknown, item: Fields): Fields {
  const line = fields(value);
  if (line.type === "response_item") return { ...line, payload: item };
  return line.carryover === undefined ? item : { ...item, carryover: line.carryover };
}

function readEvent(payload: Fields): CodexLine {
  if (payload.type === "thread_rolled_back") {
    const turns = payload.num_turns;
    return { type: "rolled-back", turns: typeof turns === "number" && turns > 0 ? turns : 0 };
  }
  const usage = fields(payload.info).last_token_usage;
  const isUsage = payload.type === "token_count" && typeof usage === "object" && usage !== null;
  return isUsage ? { type: "usage", usage: fields(usage) } : OTHER;
}

const OTHER: CodexLine = { type: "other" };

/** Items that are part of the conversation. */
const ITEMS: ReadonlySet<string> = new Set([
  "message",
  "reasoning",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "local_shell_call",
  "web_search_call",
  "image_generation_call",
]);

/** True for an item that the assistant wrote. */
export function isAssistantItem({ type, role }: Fields): boolean {
  if (type === "message") return role === "assistant";
  return type !== "function_call_output" && type !== "custom_tool_call_output";
}

/** True for what the user wrote, as against what the agent adds in the user's name. */
export function startsTurn({ type, role, content }: Fields): boolean {
  if (type !== "message" || role !== "user") return false;
  const texts = Array.isArray(content) ? content.map((each) => stringField(fields(each).text) ?? "") : [];
  return !texts.some((text) => ADDED.test(text));
}

const ADDED =
  /^\s*(?:# AGENTS\.md instructions|<(?:environment_context|user_instructions|turn_aborted|skill|user_shell_command|subagent_notification|recommended_plugins)\b)/;
