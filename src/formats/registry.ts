import {
  asArray,
  asNumber,
  asObject,
  asString,
  isObject,
  type UnknownObject,
} from "../text/unknown-value.ts";
import type { Format } from "../transcript/format.ts";
import { claudeCode, collectClaudeCodeWindow } from "./files/claude-code/claude-code.ts";
import { collectClaudeCode } from "./files/claude-code/read-claude-code-lines.ts";
import { codex, collectCodexWindow } from "./files/codex/codex.ts";
import { collectCodex } from "./files/codex/read-codex-lines.ts";
import { geminiCli } from "./files/gemini-cli/gemini-cli.ts";
import { opencode2 } from "./files/opencode2/opencode2.ts";
import { pi } from "./files/pi/pi.ts";
import { collectPi } from "./files/pi/read-pi-lines.ts";
import { sweAgent } from "./files/swe-agent/swe-agent.ts";
import type { LineCollector } from "./lines/read-json-lines.ts";
import { aiSdk } from "./wires/ai-sdk/ai-sdk.ts";
import { anthropic } from "./wires/anthropic/anthropic.ts";
import { gemini } from "./wires/gemini/gemini.ts";
import { openaiChat } from "./wires/openai-chat/openai-chat.ts";
import { openaiResponses } from "./wires/openai-responses/openai-responses.ts";
import { opencode } from "./wires/opencode/opencode.ts";

/** The formats that a file can be in. */
export type FormatName = SessionFormatName | ApiFormatName;

/** The formats in which coding agents keep their sessions. */
export type SessionFormatName =
  | "opencode"
  | "opencode2"
  | "claude-code"
  | "codex"
  | "pi"
  | "swe-agent"
  | "gemini-cli";

/** The formats of requests and lists of messages; `transcript/foreign-messages.ts` tells them apart. */
export type ApiFormatName = "ai-sdk" | "anthropic" | "openai-chat" | "openai-responses" | "gemini";

/** Everything pure that is known of the sessions of an agent. */
export interface SessionFormat {
  readonly format: Format<unknown>;
  /** The agent, as people call it. */
  readonly agent: string;
  /** By what a line of a file is known to be in this format; undefined for any other line. */
  readonly detectLine?: (line: UnknownObject) => string | undefined;
  /** The same of a file that holds one value. */
  readonly detectDocument?: (value: UnknownObject) => string | undefined;
  /** Collect lines where not all are kept; each keeps all when unset. */
  readonly collectLive?: () => LineCollector;
  readonly collectWindow?: () => LineCollector;
  /** Whether lines are a tree, of which a branch is live. */
  readonly hasBranches?: true;
  /** Whose models the agent asks where no message names one. */
  readonly provider?: string;
  /** The window of the model in tokens, where the session records it. */
  readonly windowTokensOf?: (wire: unknown) => number | undefined;
}

/** Session formats, in the order in which a file is asked. */
export const SESSION_FORMATS: Readonly<Record<SessionFormatName, SessionFormat>> = {
  opencode: {
    format: opencode,
    agent: "OpenCode",
    detectDocument: ({ info, messages }) =>
      isObject(info) && Array.isArray(messages) && messages.every((each) => "info" in asObject(each))
        ? "it has info, and messages with info and parts"
        : undefined,
  },
  opencode2: {
    format: opencode2,
    agent: "OpenCode 2",
    detectDocument: ({ info, messages }) =>
      isObject(info) && isObject(info.location) && Array.isArray(messages)
        ? "it has info with a location, and messages"
        : undefined,
  },
  "claude-code": {
    format: claudeCode,
    agent: "Claude Code",
    detectLine(line) {
      const type = asString(line.type) ?? "";
      if (typeof line.sessionId === "string" && CLAUDE_LINES.has(type))
        return `a line is ${type} with a sessionId`;
      if (typeof line.uuid === "string" && "parentUuid" in line) return "a line has uuid and parentUuid";
      if (type === "summary" && typeof line.leafUuid === "string") return "a line is a title with a leafUuid";
      return type === "file-history-snapshot" && isObject(line.snapshot)
        ? "a line is a file-history-snapshot"
        : undefined;
    },
    collectLive: collectClaudeCode,
    collectWindow: collectClaudeCodeWindow,
    hasBranches: true,
    provider: "anthropic",
  },
  codex: {
    format: codex,
    agent: "Codex",
    detectLine({ type: named, payload, call_id, encrypted_content }) {
      const type = asString(named) ?? "";
      if (isObject(payload) && CODEX_LINES.has(type)) return `a line is ${type} with a payload`;
      const isItem = call_id !== undefined || encrypted_content !== undefined;
      return isItem && OLD_CODEX_LINES.has(type) ? `a line is a bare ${type} item` : undefined;
    },
    collectLive: collectCodex,
    collectWindow: collectCodexWindow,
    provider: "openai",
    windowTokensOf: (wire) =>
      asArray(wire)
        .toReversed()
        .map((line) => asNumber(asObject(asObject(asObject(line).payload).info).model_context_window))
        .find((tokens) => tokens !== undefined),
  },
  pi: {
    format: pi,
    agent: "pi",
    detectLine(line) {
      const { type, message } = line;
      if (type === "session" && typeof line.cwd === "string" && typeof line.id === "string")
        return "a line is a session head with id and cwd";
      return type === "message" && typeof asObject(message).role === "string" && "timestamp" in line
        ? "a line is a message with a time of its own"
        : undefined;
    },
    collectLive: collectPi,
    hasBranches: true,
  },
  "swe-agent": {
    format: sweAgent,
    agent: "SWE-agent",
    detectDocument: ({ trajectory, history, info }) =>
      Array.isArray(trajectory) || (Array.isArray(history) && isObject(info))
        ? "it has a trajectory or a history with info"
        : undefined,
  },
  "gemini-cli": {
    format: geminiCli,
    agent: "Gemini CLI",
    detectLine(line) {
      if (typeof line.$rewindTo === "string" || isObject(line.$set))
        return "a line sets or rewinds a session ($set, $rewindTo)";
      return hasProject(line) ? "a line has sessionId and projectHash" : undefined;
    },
    detectDocument: (value) => (hasProject(value) ? "it has sessionId and projectHash" : undefined),
  },
};

function hasProject({ sessionId, projectHash }: UnknownObject): boolean {
  return typeof sessionId === "string" && typeof projectHash === "string";
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

/** Everything that is known of the messages of an API. */
export interface ApiFormat {
  readonly format: Format<unknown>;
  /** Whose API it is, as people call it. */
  readonly api: string;
}

/** The formats of APIs. */
export const API_FORMATS: Readonly<Record<ApiFormatName, ApiFormat>> = {
  anthropic: { format: anthropic, api: "Anthropic" },
  "openai-chat": { format: openaiChat, api: "OpenAI" },
  "openai-responses": { format: openaiResponses, api: "OpenAI" },
  gemini: { format: gemini, api: "Gemini" },
  "ai-sdk": { format: aiSdk, api: "AI SDK" },
};

/** What is known of a name's sessions; undefined for the messages of an API. */
export function sessionFormatOf(name: FormatName): SessionFormat | undefined {
  return Object.hasOwn(SESSION_FORMATS, name) ? SESSION_FORMATS[name as SessionFormatName] : undefined;
}
