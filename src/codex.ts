export { type CodexWire, codex } from "./formats/files/codex/codex.ts";
