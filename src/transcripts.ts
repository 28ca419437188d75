export {
  type DetectedFormat,
  detectFormat,
  type FormatName,
  type FormatSample,
} from "./formats/detect-format.ts";
export {
  type JsonLine,
  type LineProblem,
  type ReadJsonLinesOptions,
  readJsonLines,
} from "./formats/lines/read-json-lines.ts";
export {
  formatOf,
  type ReadTranscriptOptions,
  readTranscript,
  type TranscriptFile,
  transcriptText,
} from "./formats/read-transcript.ts";
