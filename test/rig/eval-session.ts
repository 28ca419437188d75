import type { Message, Transcript } from "../../src/transcript/message.ts";
import type { ToolPart } from "../../src/transcript/part.ts";

/** An agent that reads a file at each step and edits a line of one that it read some steps before. */
export function workingSession({ steps, editsBackSteps = 3 }: WorkingSessionOptions): Transcript {
  const messages: Message[] = [{ id: "task", role: "user", parts: [{ type: "text", text: "Tidy up." }] }];
  for (let step = 0; step < steps; step++) {
    const parts = [call("read", { filePath: fileOf(step) }, contentOf(step))];
    const edited = step - editsBackSteps;
    if (edited >= 0)
      parts.push(
        call("edit", { filePath: fileOf(edited), oldString: lineOf(edited, 20), newString: "" }, "done"),
      );
    messages.push({
      id: `step-${step}`,
      role: "assistant",
      createdAt: step * 60_000,
      model: { provider: "anthropic", id: "claude-opus-4-6" },
      parts: parts.map((part, index) => ({ ...part, callId: `call-${step}-${index}` })),
    });
  }
  return messages;
}

export interface WorkingSessionOptions {
  readonly steps: number;
  readonly editsBackSteps?: number;
}

/** The path of the file that a step reads. */
export function fileOf(step: number): string {
  return `src/parts/part-${step}.ts`;
}

/** One line of that file. */
export function lineOf(step: number, line: number): string {
  return `export const valueOf_${step}_${line} = computeValue_${step}(input_${line});`;
}

/** An OpenCode export of a transcript, as a file would hold it. */
export function exportOf(transcript: Transcript): object {
  return {
    info: { id: "ses_working", title: "Working", directory: "/home/someone/project" },
    messages: transcript.map(({ id, role, parts, createdAt = 0 }) => ({
      info: { id, role, sessionID: "ses_working", time: { created: createdAt } },
      parts: parts.map((part, index) => {
        const head = { id: `${id}-${index}`, messageID: id, sessionID: "ses_working" };
        if (part.type === "text") return { ...head, type: "text", text: part.text };
        if (part.type !== "tool" || part.outcome.status !== "done") return { ...head, type: "step-start" };
        const { input, outcome } = part;
        const state = { status: "completed", input, output: outcome.output, title: "", metadata: {} };
        return { ...head, type: "tool", callID: part.callId, tool: part.tool, state };
      }),
    })),
  };
}

const LINES = 40;

function contentOf(step: number): string {
  return Array.from({ length: LINES }, (_, line) => lineOf(step, line)).join("\n");
}

function call(tool: string, input: object, output: string): ToolPart {
  return { type: "tool", callId: "", tool, input, outcome: { status: "done", output, attachments: [] } };
}
