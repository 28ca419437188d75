export { type ClaudeCodeWire, claudeCode } from "./formats/files/claude-code/claude-code.ts";
