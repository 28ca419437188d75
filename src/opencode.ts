export { type OpenCodeFormat, opencode } from "./formats/wires/opencode/opencode.ts";
export type {
  OpenCodeWire,
  SessionExport,
  SessionMessage,
  SessionMessageInfo,
  SessionPart,
} from "./formats/wires/opencode/session-message.ts";
