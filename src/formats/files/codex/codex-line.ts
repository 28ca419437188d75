import { asObject, asString, isObject, type UnknownObject } from "../../../text/unknown-value.ts";

/** What a line of a rollout is about. */
type CodexLine =
  | { readonly type: "item"; readonly item: UnknownObject }
  | { readonly type: "compacted"; readonly payload: UnknownObject }
  /** `isRecord`: by the record of one answer; otherwise by the count that is shown to the user. */
  | { readonly type: "usage"; readonly usage: UnknownObject; readonly isRecord: boolean }
  | { readonly type: "rolled-back"; readonly turns: number }
  | { readonly type: "model"; readonly model: string | undefined; readonly provider: string | undefined }
  | { readonly type: "other" };

/** Reads a line: newer rollouts wrap what they hold in a payload, the oldest hold bare items. */
export function codexLine(value: unknown): CodexLine {
  const line = asObject(value);
  const payload = asObject(line.payload);
  switch (line.type) {
    case "response_item":
      return ITEMS.has(asString(payload.type) ?? "") ? { type: "item", item: payload } : OTHER;
    case "compacted":
      return { type: "compacted", payload };
    case "event_msg":
      return readEvent(payload);
    case "token_usage_record":
      return isObject(payload.usage) ? { type: "usage", usage: payload.usage, isRecord: true } : OTHER;
    case "turn_context":
      return { type: "model", model: asString(payload.model), provider: undefined };
    case "session_meta":
      return { type: "model", model: undefined, provider: asString(payload.model_provider) };
    default:
      return line.payload === undefined && ITEMS.has(asString(line.type) ?? "")
        ? { type: "item", item: line }
        : OTHER;
  }
}

/** The line with another item in it. */
export function withItem(value: unknown, item: UnknownObject): UnknownObject {
  const line = asObject(value);
  if (line.type === "response_item") return { ...line, payload: item };
  return line.carryover === undefined ? item : { ...item, carryover: line.carryover };
}

function readEvent(payload: UnknownObject): CodexLine {
  if (payload.type === "thread_rolled_back") {
    const turns = payload.num_turns;
    return { type: "rolled-back", turns: typeof turns === "number" && turns > 0 ? turns : 0 };
  }
  const usage = asObject(payload.info).last_token_usage;
  const isUsage = payload.type === "token_count" && isObject(usage);
  return isUsage ? { type: "usage", usage, isRecord: false } : OTHER;
}

const OTHER: CodexLine = { type: "other" };

/** Items that are part of the conversation. */
export const ITEMS: ReadonlySet<string> = new Set([
  "message",
  "reasoning",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "local_shell_call",
  "tool_search_call",
  "tool_search_output",
  "web_search_call",
  "image_generation_call",
]);
