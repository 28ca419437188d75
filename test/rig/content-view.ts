import { outcomeText } from "../../src/transcript/content.ts";
import { project, type Transcript } from "../../src/transcript/message.ts";
import { COMPACTION_QUESTION, type Part } from "../../src/transcript/part.ts";

/**
 * What a provider's wire can say of a transcript: the system text, then roles, texts, calls, results and files. Turns of
 * one role are one turn and calls are told apart by their order. Results without a call come first in their turn, and
 * reasoning is left out, since the provider's own rules decide where the one stands and what stays of the other.
 */
export function contentView(transcript: Transcript): readonly ContentTurn[] {
  const turns: { role: string; parts: PartContent[] }[] = [];
  const shown = project(transcript);
  const systems = shown.filter(({ role }) => role === "system");
  for (const message of [...systems, ...shown.filter(({ role }) => role !== "system")]) {
    const parts = message.parts.flatMap(partContent);
    if (parts.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === message.role) last.parts.push(...parts);
    else turns.push({ role: message.role, parts });
  }
  return turns.map(({ role, parts }) => ({
    role,
    parts: [...parts.filter(isLoose), ...parts.filter((part) => !isLoose(part))],
  }));
}

interface ContentTurn {
  readonly role: string;
  readonly parts: readonly unknown[];
}

interface PartContent {
  readonly callMissing?: true | undefined;
  readonly [field: string]: unknown;
}

function isLoose({ callMissing }: PartContent): boolean {
  return callMissing === true;
}

function partContent(part: Part): readonly PartContent[] {
  switch (part.type) {
    case "text":
      return [{ text: part.text }];
    case "compaction":
      return [{ text: COMPACTION_QUESTION }];
    case "tool": {
      const { tool, input, outcome, callMissing } = part;
      const attachments = outcome.status === "done" ? outcome.attachments : [];
      const result = outcome.status === "pending" ? undefined : outcomeText(outcome);
      return [{ tool, input: input ?? {}, result, attachments, callMissing }];
    }
    case "file":
      return [{ file: part.mime, filename: part.filename }];
    case "opaque":
      return [{ opaque: part.name }];
    case "reasoning":
      return [];
    default:
      return part satisfies never;
  }
}
