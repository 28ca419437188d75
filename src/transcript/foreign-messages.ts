import { asObject, asString, isObject, type UnknownObject } from "../text/unknown-value.ts";

/** The format of messages that no file surrounds, and by what it was recognized. */
export interface ForeignMessages {
  readonly format: ForeignFormat;
  readonly reason: string;
  /** Set where several APIs accept such messages, and the most common one is named. */
  readonly isPlain?: true;
}

/** The formats that a list of messages can be in. */
export type ForeignFormat =
  | "opencode"
  | "opencode2"
  | "ai-sdk"
  | "anthropic"
  | "openai-chat"
  | "openai-responses"
  | "gemini";

/** Tells the format of a request, by names that only one API uses. */
export function detectRequest(value: UnknownObject): ForeignMessages | undefined {
  const { contents, input, messages, system } = value;
  if (Array.isArray(contents)) return found("gemini", "it is a request with contents");
  if (Array.isArray(input)) return found("openai-responses", "it is a request with an input list");
  if (!Array.isArray(messages)) return undefined;
  if (system !== undefined) return found("anthropic", "it is a request with system beside messages");
  const detected = detectMessages(messages);
  return detected === undefined && value.max_tokens !== undefined && value.anthropic_version !== undefined
    ? found("anthropic", "it is a request with anthropic_version")
    : detected;
}

/** Tells the format of a list of messages: the first that only one API could have written decides. */
export function detectMessages(messages: readonly unknown[]): ForeignMessages | undefined {
  let plain: ForeignMessages | undefined;
  for (const each of messages) {
    const detected = detectMessage(asObject(each));
    if (detected !== undefined && !detected.isPlain) return detected;
    plain ??= detected;
  }
  return plain;
}

function found(format: ForeignFormat, reason: string): ForeignMessages {
  return { format, reason };
}

function detectMessage(message: UnknownObject): ForeignMessages | undefined {
  const { role, content } = message;
  const type = asString(message.type) ?? "";
  if (OPENCODE2_MESSAGES.has(type) && isObject(message.time) && typeof message.id === "string")
    return found("opencode2", `a message is ${type} with an id and a time`);
  if (isObject(message.info) && Array.isArray(message.parts))
    return found("opencode", "a message has info and parts");
  if (Array.isArray(message.parts) && (role === "user" || role === "model" || role === "function")) {
    const isUiMessage = message.parts.some((part) => typeof asObject(part).type === "string");
    return isUiMessage
      ? found("ai-sdk", "a message has parts with a type")
      : found("gemini", "a message has parts without a type");
  }
  if (role === "model") return found("gemini", "a message is the model's");
  if (RESPONSES_ITEMS.has(type)) return found("openai-responses", `an item is a ${type}`);
  if (Array.isArray(message.tool_calls) || typeof message.tool_call_id === "string")
    return found("openai-chat", "a message has tool_calls or a tool_call_id");
  if (role === "developer" && !Array.isArray(content))
    return found("openai-chat", "a message is the developer's");
  if (isObject(message.providerOptions)) return found("ai-sdk", "a message has providerOptions");
  for (const block of Array.isArray(content) ? content : []) {
    const detected = detectBlock(asObject(block), role);
    if (detected !== undefined) return detected;
  }
  if (typeof role !== "string") return undefined;
  if (role === "tool") return found("openai-chat", "a message is a tool's");
  if (content === undefined) return undefined;
  const reason = "it is a list of messages with a role and a text, which several APIs accept";
  return { format: "openai-chat", reason, isPlain: true };
}

const OPENCODE2_MESSAGES: ReadonlySet<string> = new Set([
  "user",
  "assistant",
  "synthetic",
  "system",
  "skill",
  "shell",
  "compaction",
  "agent-switched",
  "model-switched",
  "location-switched",
]);

const RESPONSES_ITEMS: ReadonlySet<string> = new Set([
  "message",
  "function_call",
  "function_call_output",
  "reasoning",
  "custom_tool_call",
  "custom_tool_call_output",
  "item_reference",
  "compaction",
]);

function detectBlock(block: UnknownObject, role: unknown): ForeignMessages | undefined {
  const name = asString(block.type) ?? "";
  if (name === "tool-call" || name === "tool-result" || isObject(block.providerOptions))
    return found("ai-sdk", `a message has a ${name} part`);
  if (name === "reasoning" && role === "assistant") return found("ai-sdk", "an answer has a reasoning part");
  if ((name === "file" || name === "image") && typeof (block.mediaType ?? block.mimeType) === "string")
    return found("ai-sdk", "a message has a file part with its media type");
  if (name === "input_text" || name === "output_text" || name === "input_image")
    return found("openai-responses", `a message has an ${name} part`);
  if (name === "image_url" || name === "input_audio" || name === "refusal")
    return found("openai-chat", `a message has an ${name} part`);
  if (ANTHROPIC_BLOCKS.has(name) || isObject(block.source) || isObject(block.cache_control))
    return found("anthropic", `a message has a ${name} block`);
  return undefined;
}

const ANTHROPIC_BLOCKS: ReadonlySet<string> = new Set([
  "tool_use",
  "tool_result",
  "thinking",
  "redacted_thinking",
  "server_tool_use",
]);
