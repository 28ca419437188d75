import { optionsCheck } from "../text/check.ts";
import { mapStrings } from "../text/map-strings.ts";
import { normalizeText } from "../text/normalize.ts";
import { REDACT_SHAPE, type RedactOptions, redactSecretsWithReport } from "../text/secrets/redact-secrets.ts";
import { outcomeText } from "../transcript/content.ts";
import type { Edit, Stage } from "../transcript/edit.ts";
import { isVisibleToModel, type Message, normalizePartText, withText } from "../transcript/message.ts";
import type { FilePart, Part, ToolPart } from "../transcript/part.ts";

/**
 * Replaces secrets in texts, inputs and results by typed placeholders. Runs before anything that cuts, because half a
 * key is not recognized. Normalizes first, because escape sequences can stand inside a key. Never touches ids,
 * reasoning and opaque parts.
 */
export function redactTranscript(options: RedactOptions = {}): Stage {
  checkOptions(options);
  const redact = createTextRedactor(options, new Map());
  return (transcript) => {
    const edits: Edit[] = [];
    for (const message of transcript) {
      if (!isVisibleToModel(message)) continue;
      for (const [partIndex, part] of message.parts.entries()) {
        const redacted = part.agentVisible === false ? part : redactSent(message, part, redact);
        if (redacted === part) continue;
        edits.push({
          type: "replace-part",
          messageId: message.id,
          partIndex,
          part: redacted,
          stage: "redact-transcript",
          reason: "secret",
        });
      }
    }
    return edits;
  };
}

const checkOptions = optionsCheck(REDACT_SHAPE);

/** Redacts what a person will read, text by text or message by message, and counts what it replaced. */
interface Redactor {
  /** Gives the same text when it holds no secret, even if normalizing would change it. */
  text(text: string, normalized?: string): string;
  /**
   * Redacts the whole message, including what the model does not see: reasoning, names, errors, metadata. Ids stay.
   */
  message(message: Message): Message;
  /** How many secrets of each type were replaced so far. */
  readonly found: ReadonlyMap<string, number>;
}

/** Creates a redactor that has counted nothing yet. */
export function createRedactor(options: RedactOptions = {}): Redactor {
  const found = new Map<string, number>();
  const text = createTextRedactor(options, found);
  return { text, message: (message) => redactMessage(message, text), found };
}

type Redact = Redactor["text"];

function createTextRedactor(options: RedactOptions, counts: Map<string, number>): Redact {
  return (before, normalized = normalizeText(before)) => {
    const { text: after, found } = redactSecretsWithReport(normalized, options);
    for (const { type, count } of found) counts.set(type, (counts.get(type) ?? 0) + count);
    return found.length === 0 ? before : after;
  };
}

/** A part as the model is sent it. */
function redactSent(message: Message, part: Part, redact: Redact): Part {
  if (part.type === "text")
    return withChanges(part, { text: redact(part.text, normalizePartText(message, part)) });
  return part.type === "tool" ? redactCall(part, redact) : part;
}

function redactCall(part: ToolPart, redact: Redact): ToolPart {
  const { outcome, inputCut } = part;
  const before = outcomeText(outcome);
  const after = redact(before);
  return withChanges(part, {
    input: mapStrings(part.input, (text) => redact(text)),
    outcome: after === before ? outcome : withText(outcome, after),
    ...(inputCut && { inputCut: withChanges(inputCut, { preview: redact(inputCut.preview) }) }),
  });
}

function redactMessage(message: Message, redact: Redact): Message {
  const { error, metadata } = message;
  return {
    ...message,
    parts: message.parts.map((part) => redactShown(part, redact)),
    ...(error && { error: { name: redact(error.name), text: redact(error.text) } }),
    ...(metadata && { metadata: mapStrings(metadata, (text) => redact(text)) as typeof metadata }),
  };
}

/** A part as a person sees it. */
function redactShown(part: Part, redact: Redact): Part {
  switch (part.type) {
    case "text":
    case "reasoning":
      return withChanges(part, { text: redact(part.text) });
    case "tool": {
      const call = redactCall(part, redact);
      const { tool, input, outcome } = call;
      return withChanges(call, {
        tool: redact(tool),
        input: redactNamed(input, redact),
        ...(outcome.status === "done" && {
          outcome: { ...outcome, attachments: outcome.attachments.map((file) => redactFile(file, redact)) },
        }),
      });
    }
    case "file":
      return redactFile(part, redact);
    case "opaque":
      return withChanges(part, { name: redact(part.name) });
    case "compaction":
      return part;
    default:
      return part satisfies never;
  }
}

/** A value may only be recognizable by its name (`"password": …`), so the whole input is also read as JSON. */
function redactNamed(input: unknown, redact: Redact): unknown {
  const json = typeof input === "object" ? JSON.stringify(input) : undefined;
  if (json === undefined) return input;
  const redacted = redact(json);
  if (redacted === json) return input;
  try {
    return JSON.parse(redacted) as unknown;
  } catch {
    return redacted;
  }
}

function redactFile(part: FilePart, redact: Redact): FilePart {
  return part.filename === undefined ? part : withChanges(part, { filename: redact(part.filename) });
}

/** The same reference when every change is what was there. */
function withChanges<T extends object>(value: T, changes: Partial<T>): T {
  const names = Object.keys(changes) as (keyof T)[];
  return names.every((name) => changes[name] === value[name]) ? value : { ...value, ...changes };
}
