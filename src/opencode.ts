export { type OpenCodeFormat, opencode } from "./formats/opencode/opencode.ts";
export type {
  OpenCodeWire,
  SessionExport,
  SessionMessage,
  SessionMessageInfo,
  SessionPart,
} from "./formats/opencode/session-message.ts";
