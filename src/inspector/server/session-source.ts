import { mapStrings } from "../../text/json.ts";
import { normalizeText } from "../../text/normalize.ts";
import { redactSecretsWithReport } from "../../text/secrets/redact-secrets.ts";
import type { Message, MessageError, Transcript } from "../../transcript/message.ts";
import type { FilePart, Part, ToolOutcome, ToolPart } from "../../transcript/part.ts";
import type { LiveEvent, SessionHead } from "../view/protocol.ts";
import type { InspectedSession } from "../view/types.ts";

/** Where the server has its session from; what it gives is ready to be shown. */
export interface SessionSource {
  head(): SessionHead;
  transcript(): Transcript;
  /** Set for a session that is followed. */
  readonly live?: LiveSource;
}

export interface LiveSource {
  /** Grows whenever a message changes. */
  revision(): number;
  /** Says first everything that a listener which knows this revision has missed, then everything that happens, until the returned function is called. */
  listen(listener: (event: LiveEvent) => void, sinceRevision: number): () => void;
}

/** A session that does not change any more. */
export function createFixedSource({ transcript, ...head }: InspectedSession): SessionSource {
  return { head: () => head, transcript: () => transcript };
}

/** What the page is given of a session, without its secrets unless they are asked for. */
export function createInspectedSession(
  { windowTokens, ...read }: ReadSession,
  secrets: SecretsChoice,
): InspectedSession {
  const model = modelOf(read.transcript);
  const session: InspectedSession = {
    ...read,
    ...(model !== undefined && { model }),
    windowTokens: windowTokens ?? DEFAULT_WINDOW_TOKENS,
    windowKnown: windowTokens !== undefined,
    redactedSecrets: 0,
  };
  return secrets === "redacted" ? redactSession(session) : session;
}

/** A session as it was read from wherever it lies. */
interface ReadSession
  extends Pick<
    InspectedSession,
    "name" | "title" | "format" | "sessionId" | "workingDirectory" | "transcript" | "problems"
  > {
  /** The window of its model, where somebody said it. */
  readonly windowTokens?: number;
}

export type SecretsChoice = "redacted" | "shown";

const DEFAULT_WINDOW_TOKENS = 200_000;

function modelOf(transcript: Transcript): string | undefined {
  const model = transcript.findLast((message) => message.model !== undefined)?.model;
  return model && `${model.provider}/${model.id}`;
}

/** A session without the secrets that we know, in everything a person could read of it: also where the model sees nothing, in reasoning, titles, errors and paths. Ids stay. */
export function redactSession(session: InspectedSession): InspectedSession {
  const redaction = createRedactor();
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
interface Redactor {
  text(text: string): string;
  message(message: Message): Message;
  count(): number;
}

export function createRedactor(): Redactor {
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
