export { type ClaudeCodeWire, claudeCode } from "./formats/claude-code/claude-code.ts";
