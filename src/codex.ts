export { type CodexWire, codex } from "./formats/codex/codex.ts";
