import type { Format } from "../transcript/format.ts";
import { aiSdk } from "./ai-sdk/ai-sdk.ts";
import { anthropic } from "./anthropic/anthropic.ts";
import { claudeCode } from "./claude-code/claude-code.ts";
import { codex } from "./codex/codex.ts";
import type { FormatName } from "./detect-format.ts";
import { gemini } from "./gemini/gemini.ts";
import { geminiCli } from "./gemini-cli/gemini-cli.ts";
import { openaiChat } from "./openai-chat/openai-chat.ts";
import { openaiResponses } from "./openai-responses/openai-responses.ts";
import { opencode } from "./opencode/opencode.ts";
import { pi } from "./pi/pi.ts";
import { sweAgent } from "./swe-agent/swe-agent.ts";

/** The format of a name, for a wire that was read from outside: each takes whatever it is given. */
export function formatOf(name: FormatName): Format<unknown> {
  return FORMATS[name] as Format<unknown>;
}

const FORMATS: Readonly<Record<FormatName, unknown>> = {
  opencode,
  "claude-code": claudeCode,
  codex,
  pi,
  "swe-agent": sweAgent,
  "gemini-cli": geminiCli,
  "ai-sdk": aiSdk,
  anthropic,
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  gemini,
};
