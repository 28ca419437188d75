export type { BlockFormat, WireFormat } from "./formats/blocks/create-block-format.ts";
export {
  type DetectedFormat,
  detectFormat,
  type FormatSample,
} from "./formats/detect-format.ts";
export { type ClaudeCodeWire, claudeCode } from "./formats/files/claude-code/claude-code.ts";
export { type CodexWire, codex } from "./formats/files/codex/codex.ts";
export { type GeminiCliWire, geminiCli } from "./formats/files/gemini-cli/gemini-cli.ts";
export { type Opencode2Wire, opencode2 } from "./formats/files/opencode2/opencode2.ts";
export { type PiWire, pi } from "./formats/files/pi/pi.ts";
export { type SweAgentWire, sweAgent } from "./formats/files/swe-agent/swe-agent.ts";
export {
  type JsonLine,
  type LineProblem,
  type ReadJsonLinesOptions,
  readJsonLines,
} from "./formats/lines/read-json-lines.ts";
export {
  formatOf,
  type ReadTranscriptOptions,
  readTranscript,
  type TranscriptFile,
  transcriptText,
} from "./formats/read-transcript.ts";
export type { FormatName } from "./formats/registry.ts";
export { type AiSdkFormat, aiSdk } from "./formats/wires/ai-sdk/ai-sdk.ts";
export type { AiSdkMessage, AiSdkWire, EncodedAiSdkMessage } from "./formats/wires/ai-sdk/ai-sdk-message.ts";
export { anthropic } from "./formats/wires/anthropic/anthropic.ts";
export type {
  AnthropicMessage,
  AnthropicRequest,
  AnthropicWire,
} from "./formats/wires/anthropic/read-message.ts";
export { gemini } from "./formats/wires/gemini/gemini.ts";
export type { GeminiContent, GeminiRequest, GeminiWire } from "./formats/wires/gemini/read-content.ts";
export { openaiChat } from "./formats/wires/openai-chat/openai-chat.ts";
export type { ChatMessage, ChatRequest, ChatWire } from "./formats/wires/openai-chat/read-message.ts";
export { openaiResponses } from "./formats/wires/openai-responses/openai-responses.ts";
export type {
  ResponsesItem,
  ResponsesRequest,
  ResponsesWire,
} from "./formats/wires/openai-responses/responses-run.ts";
export type {
  OpenCodeWire,
  SessionExport,
  SessionMessage,
  SessionMessageInfo,
  SessionPart,
} from "./formats/wires/opencode/decode-messages.ts";
export { type OpenCodeFormat, opencode } from "./formats/wires/opencode/opencode.ts";
