import { readInput } from "../../../src/cli/files/read-input.ts";
import { createInspectedSession } from "../../../src/inspector/view/inspected-session.ts";
import type { InspectedSession } from "../../../src/inspector/view/types.ts";
import type { Message, Transcript } from "../../../src/transcript/message.ts";
import type { Part } from "../../../src/transcript/part.ts";

/** The recorded session of the examples. */
export async function exampleSession(): Promise<InspectedSession> {
  const path = "examples/sessions/opencode-session.json";
  const { title, format, sessionId, workingDirectory, transcript } = await readInput(path, "window");
  const read = { name: "opencode-session.json", format, transcript, problems: [] };
  return createInspectedSession(
    {
      ...read,
      ...(title !== undefined && { title }),
      ...(sessionId !== undefined && { sessionId }),
      ...(workingDirectory !== undefined && { workingDirectory }),
    },
    "redacted",
  );
}

/** A session of these messages. */
export function sessionWith(transcript: Transcript): InspectedSession {
  return {
    name: "made.json",
    format: "opencode",
    windowTokens: 200_000,
    windowKnown: true,
    transcript,
    redactedSecrets: 0,
    problems: [],
  };
}

/** A long session: every message of an agent calls a tool whose output has about two thousand characters. */
export function longSession(messages: number): InspectedSession {
  const transcript = Array.from({ length: messages }, (_, index): Message => {
    const createdAt = 1_760_000_000_000 + index * 7_000;
    if (index % 8 === 0)
      return message(`m${index}`, "user", [text(`Next, look at part ${index}.`)], createdAt);
    const output = `src/part-${index % 300}.ts\n${LINE.repeat(8 + ((index * 7) % 45))}`;
    return message(`m${index}`, "assistant", [text(`I read part ${index}.`), read(index, output)], createdAt);
  });
  return sessionWith(transcript);
}

const LINE = "  const total = lines.reduce((sum, { cents }) => sum + cents, 0);\n";

/** One message. */
export function message(id: string, role: string, parts: readonly Part[], createdAt?: number): Message {
  return { id, role, parts, ...(createdAt !== undefined && { createdAt }) };
}

/** One text. */
export function text(words: string): Part {
  return { type: "text", text: words };
}

function read(index: number, output: string): Part {
  return {
    type: "tool",
    callId: `call-${index}`,
    tool: index % 3 === 0 ? "grep" : "read",
    input: { filePath: `src/part-${index % 300}.ts` },
    outcome: { status: "done", output, attachments: [] },
  };
}
