import { mapStrings } from "../../../text/map-strings.ts";
import { normalizeText } from "../../../text/normalize-text.ts";
import { redactSecretsWithReport } from "../../../text/redact-secrets.ts";
import type { Message, MessageError } from "../../../transcript/message.ts";
import type { FilePart, Part, ToolOutcome, ToolPart } from "../../../transcript/part.ts";
import type { InspectedSession } from "../view/types.ts";

/** A session without the secrets that we know, in everything a person could read of it: also where the model sees nothing, in reasoning, titles, errors and paths. Ids stay. */
export function redactSession(session: InspectedSession): InspectedSession {
  const redaction = createRedaction();
  const transcript = session.transcript.map(redaction.message);
  const { title, name, workingDirectory } = session;
  const { text } = redaction;
  return {
    ...session,
    name: text(name),
    ...(title !== undefined && { title: text(title) }),
    ...(workingDirectory !== undefined && { workingDirectory: text(workingDirectory) }),
    problems: session.problems.map(text),
    transcript,
    redactedSecrets: redaction.count(),
  };
}

/** Redacts piece by piece and counts what it found. */
export interface Redaction {
  text(text: string): string;
  message(message: Message): Message;
  count(): number;
}

export function createRedaction(): Redaction {
  let secrets = 0;
  const text = (before: string): string => {
    // Escape sequences can stand inside a key; normalizing alone is no reason to change a text.
    const { text: after, found } = redactSecretsWithReport(normalizeText(before));
    for (const { count } of found) secrets += count;
    return found.length === 0 ? before : after;
  };
  return { text, message: (message) => redactMessage(message, text), count: () => secrets };
}

type Redact = (text: string) => string;

function redactMessage(message: Message, redact: Redact): Message {
  const { error, metadata } = message;
  return {
    ...message,
    parts: message.parts.map((part) => redactPart(part, redact)),
    ...(error && { error: redactError(error, redact) }),
    ...(metadata && { metadata: mapStrings(metadata, redact) as typeof metadata }),
  };
}

function redactError({ name, text }: MessageError, redact: Redact): MessageError {
  return { name: redact(name), text: redact(text) };
}

function redactPart(part: Part, redact: Redact): Part {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { ...part, text: redact(part.text) };
    case "tool":
      return redactTool(part, redact);
    case "file":
      return redactFile(part, redact);
    case "opaque":
      return { ...part, name: redact(part.name) };
    case "compaction":
      return part;
    default:
      part satisfies never;
      return part;
  }
}

function redactTool(part: ToolPart, redact: Redact): ToolPart {
  const { inputCut } = part;
  return {
    ...part,
    tool: redact(part.tool),
    input: redactInput(part.input, redact),
    outcome: redactOutcome(part.outcome, redact),
    ...(inputCut && { inputCut: { ...inputCut, preview: redact(inputCut.preview) } }),
  };
}

/** A value alone may say nothing; with its name before it (`"password": …`) it does, and so the whole is read as well. */
function redactInput(input: unknown, redact: Redact): unknown {
  const mapped = mapStrings(input, redact);
  const json = JSON.stringify(mapped);
  if (json === undefined || typeof mapped !== "object") return mapped;
  const redacted = redact(json);
  if (redacted === json) return mapped;
  try {
    return JSON.parse(redacted) as unknown;
  } catch {
    return redacted;
  }
}

function redactOutcome(outcome: ToolOutcome, redact: Redact): ToolOutcome {
  if (outcome.status === "failed") return { ...outcome, error: redact(outcome.error) };
  if (outcome.status === "pending") return outcome;
  const attachments = outcome.attachments.map((file) => redactFile(file, redact));
  return { ...outcome, output: redact(outcome.output), attachments };
}

function redactFile(part: FilePart, redact: Redact): FilePart {
  return part.filename === undefined ? part : { ...part, filename: redact(part.filename) };
}
