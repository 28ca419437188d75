export type { BlockFormat } from "./formats/blocks/create-block-format.ts";
export type { GeminiContent, GeminiRequest, GeminiWire } from "./formats/wires/gemini/gemini.ts";
export { gemini } from "./formats/wires/gemini/gemini.ts";
