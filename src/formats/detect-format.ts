import { asObject, asString, isObject, type UnknownObject } from "../text/unknown-value.ts";

/** The formats that a file can be in. */
export type FormatName =
  | "opencode"
  | "opencode2"
  | "claude-code"
  | "codex"
  | "pi"
  | "swe-agent"
  | "gemini-cli"
  | "ai-sdk"
  | "anthropic"
  | "openai-chat"
  | "openai-responses"
  | "gemini";

/** The format of a file, and by what it was recognized. */
export type DetectedFormat =
  | { readonly format: FormatName; readonly reason: string }
  | { readonly format: "unknown"; readonly reason: string };

/** A file as far as it is known: its first lines, parsed, or the one value that it holds. */
export type FormatSample =
  | { readonly type: "lines"; readonly lines: readonly unknown[] }
  | { readonly type: "document"; readonly value: unknown };

/** Tells the format of a file by names that only this format uses; when in doubt, "unknown". */
export function detectFormat(sample: FormatSample): DetectedFormat {
  const detected = sample.type === "lines" ? detectLines(sample.lines) : detectDocument(sample.value);
  return detected ?? found("unknown", "nothing in it belongs to a format that is known here");
}

type Found = DetectedFormat | undefined;

function found(format: DetectedFormat["format"], reason: string): DetectedFormat {
  return { format, reason };
}

/** The line that decides is not always the first: some agents begin with notes. */
function detectLines(lines: readonly unknown[]): Found {
  for (const line of lines) {
    const detected = detectLine(asObject(line));
    if (detected !== undefined) return detected;
  }
  const [only] = lines;
  return lines.length === 1 ? detectDocument(only) : undefined;
}

function detectLine(line: UnknownObject): Found {
  const { payload, message } = line;
  const type = asString(line.type) ?? "";
  if (typeof line.$rewindTo === "string" || isObject(line.$set))
    return found("gemini-cli", "a line sets or rewinds a session ($set, $rewindTo)");
  if (typeof line.sessionId === "string" && typeof line.projectHash === "string")
    return found("gemini-cli", "a line has sessionId and projectHash");
  if (isObject(payload) && CODEX_LINES.has(type)) return found("codex", `a line is ${type} with a payload`);
  if (type === "session" && typeof line.cwd === "string" && typeof line.id === "string")
    return found("pi", "a line is a session head with id and cwd");
  if (typeof line.sessionId === "string" && CLAUDE_LINES.has(type))
    return found("claude-code", `a line is ${type} with a sessionId`);
  if (typeof line.uuid === "string" && "parentUuid" in line)
    return found("claude-code", "a line has uuid and parentUuid");
  if (type === "summary" && typeof line.leafUuid === "string")
    return found("claude-code", "a line is a title with a leafUuid");
  if (type === "file-history-snapshot" && isObject(line.snapshot))
    return found("claude-code", "a line is a file-history-snapshot");
  if (type === "message" && isObject(message) && typeof message.role === "string" && "timestamp" in line)
    return found("pi", "a line is a message with a time of its own");
  if (OLD_CODEX_LINES.has(type) && (line.call_id !== undefined || line.encrypted_content !== undefined)) {
    return found("codex", `a line is a bare ${type} item`);
  }
  return undefined;
}

const CODEX_LINES: ReadonlySet<string> = new Set([
  "session_meta",
  "response_item",
  "event_msg",
  "turn_context",
  "compacted",
  "world_state",
  "token_usage_record",
]);
const OLD_CODEX_LINES: ReadonlySet<string> = new Set(["function_call", "function_call_output", "reasoning"]);
const CLAUDE_LINES: ReadonlySet<string> = new Set([
  "user",
  "assistant",
  "system",
  "progress",
  "attachment",
  "queue-operation",
  "pr-link",
  "api-request",
  "api-request-blob",
  "api-request-shape",
]);

function detectDocument(value: unknown): Found {
  if (Array.isArray(value)) return detectMessages(value);
  if (!isObject(value)) return undefined;
  const { messages, info, history, trajectory, contents, input, system } = value;
  if (Array.isArray(trajectory) || (Array.isArray(history) && isObject(info)))
    return found("swe-agent", "it has a trajectory or a history with info");
  if (typeof value.sessionId === "string" && typeof value.projectHash === "string")
    return found("gemini-cli", "it has sessionId and projectHash");
  if (Array.isArray(messages) && isObject(info) && messages.every((each) => "info" in asObject(each)))
    return found("opencode", "it has info, and messages with info and parts");
  if (Array.isArray(messages) && isObject(info) && isObject(info.location))
    return found("opencode2", "it has info with a location, and messages");
  if (Array.isArray(contents)) return found("gemini", "it is a request with contents");
  if (Array.isArray(input)) return found("openai-responses", "it is a request with an input list");
  if (!Array.isArray(messages)) return undefined;
  if (system !== undefined) return found("anthropic", "it is a request with system beside messages");
  return (
    detectMessages(messages) ??
    (value.max_tokens !== undefined && value.anthropic_version !== undefined
      ? found("anthropic", "it is a request with anthropic_version")
      : undefined)
  );
}

/** The first message that only one API could have written decides. */
function detectMessages(messages: readonly unknown[]): Found {
  let plain: Found;
  for (const each of messages) {
    const detected = detectMessage(asObject(each));
    if (detected !== undefined && detected.reason !== PLAIN) return detected;
    plain ??= detected;
  }
  return plain;
}

const PLAIN = "it is a list of messages with a role and a text, which several APIs accept";

function detectMessage(message: UnknownObject): Found {
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
  return content === undefined ? undefined : found("openai-chat", PLAIN);
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

function detectBlock(block: UnknownObject, role: unknown): Found {
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
