export { type GeminiCliWire, geminiCli } from "./formats/files/gemini-cli/gemini-cli.ts";
