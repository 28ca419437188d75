import type { Recalled, RecallRange } from "../session/recall.ts";
import { formatMatches } from "../session/search.ts";
import type { Session } from "../session/session.ts";
import { asNumber, asObject, asString } from "../text/unknown-value.ts";

/** What the model may ask for: what a handle names, or what holds some words; a range of lines where it is long. */
export interface RecallInput {
  readonly handle?: string;
  readonly search?: string;
  readonly fromLine?: number;
  readonly toLine?: number;
}

/** What the model is told when it asks for something. */
export async function answerRecall(session: Session, input: RecallInput): Promise<string> {
  const { handle = "", search, fromLine, toLine } = input;
  // Some models count from 0.
  const range: RecallRange | undefined =
    fromLine === undefined && toLine === undefined
      ? undefined
      : {
          fromLine: Math.max(1, fromLine ?? 1),
          ...(toLine !== undefined && { toLine: Math.max(1, toLine) }),
        };
  const request = search === undefined ? handle : { search, ...(handle !== "" && { handle }) };
  return formatRecalled(await session.recall(request, range));
}

/** What the model is told about the tool. */
export const RECALL_DESCRIPTION: string =
  "Reads again what was left out of this conversation: the rest of a long tool output, or earlier messages that " +
  "were summed up. Give the handle that a notice names, with lines where you need only a part, or words to " +
  "search for.";

/** The name under which a request declares the tool, also with another description; undefined where it does not. */
export function recallToolIn(tools: unknown): string | undefined {
  const declared = Array.isArray(tools) ? tools.map(asObject) : [];
  const own = declared.find(
    ({ description, inputSchema }) => description === RECALL_DESCRIPTION || inputSchema === RECALL_SCHEMA,
  );
  return asString(own?.name);
}

/** What it may be asked. */
export const RECALL_SCHEMA = {
  type: "object",
  properties: {
    handle: { type: "string", description: "The handle of what to read." },
    search: {
      type: "string",
      description:
        "Words or an exact text to look for in what the handle names, or in everything out of sight.",
    },
    fromLine: { type: "integer", minimum: 1, description: "The first line to read, counted from 1." },
    toLine: { type: "integer", minimum: 1, description: "The last line to read." },
  },
  additionalProperties: false,
} as const;

/** What a model asked, as far as it can be understood. */
export function readRecallInput(value: unknown): RecallInput {
  const given = asObject(value);
  const handle = asString(given.handle);
  const search = asString(given.search);
  const fromLine = asNumber(given.fromLine);
  const toLine = asNumber(given.toLine);
  return {
    ...(handle !== undefined && { handle }),
    // Models fill in every field, so an empty search counts as unset.
    ...(search && { search }),
    ...(fromLine !== undefined && { fromLine }),
    ...(toLine !== undefined && { toLine }),
  };
}

function formatRecalled(recalled: Recalled): string {
  switch (recalled.status) {
    case "found": {
      const { text, input, totalChars, totalLines } = recalled;
      const asked = input === undefined ? "" : `[Input: ${input}]\n`;
      return `[${totalLines} lines, ${totalChars} characters]\n${asked}${text}`;
    }
    case "matches":
      return recalled.totalPieces === 0 ? NOTHING_FOUND : formatMatches(recalled);
    case "missing":
    case "failed":
      return recalled.hint;
    default:
      return recalled satisfies never;
  }
}

const NOTHING_FOUND = "Nothing out of sight holds any of this. Try other words, or run the tool again.";
