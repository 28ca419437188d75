import { mapStrings } from "../text/json.ts";
import { normalizeText } from "../text/normalize.ts";
import { type RedactOptions, redactSecrets } from "../text/secrets/redact-secrets.ts";
import type { Edit, Stage } from "../transcript/edit.ts";
import { isVisibleToModel, type Message, normalizePartText } from "../transcript/message.ts";
import { outcomeText, type Part, type ToolPart, withText } from "../transcript/part.ts";

/**
 * Replaces secrets in texts, inputs and results by typed placeholders. It goes before anything that cuts: half a key is
 * no longer recognised. Text is normalized first, since escape sequences can stand inside a key. Ids, reasoning and
 * parts that no format understands are never touched.
 */
export function redactTranscript(options: RedactOptions = {}): Stage {
  const redact = (text: string) => redactSecrets(text, options);
  return (transcript) => {
    const edits: Edit[] = [];
    for (const message of transcript) {
      if (!isVisibleToModel(message)) continue;
      for (const [partIndex, part] of message.parts.entries()) {
        const redacted = part.agentVisible === false ? part : redactPart(message, part, redact);
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

type Redact = (text: string) => string;

function redactPart(message: Message, part: Part, redact: Redact): Part {
  if (part.type === "text")
    return (
      redactText(part.text, normalizePartText(message, part), redact, (text) => ({ ...part, text })) ?? part
    );
  return part.type === "tool" ? redactTool(part, redact) : part;
}

function redactTool(part: ToolPart, redact: Redact): ToolPart {
  const input = mapStrings(
    part.input,
    (text) => redactText(text, normalizeText(text), redact, (kept) => kept) ?? text,
  );
  const { outcome } = part;
  const text = outcomeText(outcome);
  const changed = redactText(text, normalizeText(text), redact, (kept) => withText(outcome, kept)) ?? outcome;
  const inputCut = part.inputCut && { ...part.inputCut, preview: redact(part.inputCut.preview) };
  const isPreviewKept = inputCut?.preview === part.inputCut?.preview;
  if (input === part.input && changed === outcome && isPreviewKept) return part;
  return { ...part, input, outcome: changed, ...(inputCut && { inputCut }) };
}

/** What a text becomes, or undefined when there is no secret in it: normalizing alone is no reason to change it. */
function redactText<T>(
  text: string,
  normal: string,
  redact: Redact,
  change: (text: string) => T,
): T | undefined {
  const redacted = redact(normal);
  return redacted === normal || redacted === text ? undefined : change(redacted);
}
