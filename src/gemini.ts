export type { BlockFormat } from "./formats/blocks/create-block-format.ts";
export { gemini } from "./formats/gemini/gemini.ts";
export type { GeminiContent, GeminiRequest, GeminiWire } from "./formats/gemini/gemini-wire.ts";
