export {
  type DetectedFormat,
  detectFormat,
  type FormatName,
  type FormatSample,
} from "./formats/detect-format.ts";
export { formatOf } from "./formats/format-of.ts";
export {
  type JsonLine,
  type LineProblem,
  type ReadJsonLinesOptions,
  readJsonLines,
} from "./formats/jsonl/read-json-lines.ts";
export {
  type ReadTranscriptOptions,
  readTranscript,
  type TranscriptFile,
  transcriptText,
} from "./formats/read-transcript.ts";
