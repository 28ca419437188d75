export { type GeminiCliWire, geminiCli } from "./formats/gemini-cli/gemini-cli.ts";
