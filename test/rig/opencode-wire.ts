import type { SessionMessage, SessionPart } from "../../src/formats/wires/opencode/decode-messages.ts";

let count = 0;

/** A message in OpenCode's live shape. */
export function wireMessage(
  role: string,
  parts: readonly SessionPart[],
  info: Record<string, unknown> = {},
): SessionMessage {
  count++;
  const assistant = role === "assistant" ? { finish: "stop", tokens: { input: 1, output: 1 } } : {};
  return {
    info: { id: `msg_${count}`, sessionID: "ses_1", role, time: { created: count }, ...assistant, ...info },
    parts,
  };
}

export function wireText(text: string, more: Record<string, unknown> = {}): SessionPart {
  return { type: "text", text, ...more };
}

/** A finished call, output in its state, as OpenCode stores it. */
export function wireTool(tool: string, output: string, state: Record<string, unknown> = {}): SessionPart {
  count++;
  return {
    type: "tool",
    callID: `call_${count}`,
    tool,
    state: {
      status: "completed",
      input: { filePath: "src/a.ts" },
      output,
      time: { start: 1, end: 2 },
      ...state,
    },
  };
}

/** A compaction: its marker and its summary. */
export function wireCompaction(
  summary: string,
  info: Record<string, unknown> = {},
  part: Record<string, unknown> = {},
): readonly SessionMessage[] {
  const marker = wireMessage("user", [{ type: "compaction", auto: true, ...part }]);
  return [
    marker,
    wireMessage("assistant", [wireText(summary)], { summary: true, parentID: marker.info.id, ...info }),
  ];
}
