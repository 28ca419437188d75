import { skipToValue } from "./assignment.ts";
import { endOfNameBefore, startOfName } from "./name-before.ts";
import { withVendor } from "./run-token.ts";
import { secretKindOf, typeOfKind } from "./secret-name.ts";
import { type SecretSpan, textOf } from "./secret-span.ts";
import { isSecretValue } from "./secret-value.ts";
import { valueAt } from "./value-at.ts";

/** Finds the secret handed over in quotes, from the bracket after a secret-looking function or the comma after such a name. */
export function matchArgument(text: string, markIndex: number): SecretSpan | undefined {
  const isComma = text.charAt(markIndex) === ",";
  if (isComma && !isQuote(text.charAt(markIndex - 1))) return undefined;
  const next = text.charAt(markIndex + 1);
  if (next !== " " && next !== "\\" && !isQuote(next)) return undefined;
  const nameEnd = isComma ? endOfNameBefore(text, markIndex) : markIndex;
  const kind = secretKindOf(text.slice(startOfName(text, nameEnd), nameEnd));
  if (kind === undefined) return undefined;
  const value = valueAt(text, { index: skipToValue(text, markIndex), place: "tight" });
  if (value?.form !== "quoted" || value.endIndex - value.startIndex < MIN_ARGUMENT_CHARS) return undefined;
  if (!isSecretValue(textOf(text, value), { kind, form: "loose" })) return undefined;
  return withVendor(text, { ...value, type: typeOfKind(kind) });
}

/** Finds the secret inside an element with a secret-looking name, from the mark that closes its opening tag. */
export function matchElement(text: string, closingIndex: number): SecretSpan | undefined {
  const nameIndex = startOfName(text, closingIndex);
  if (nameIndex === closingIndex || text.charAt(nameIndex - 1) !== "<") return undefined;
  const kind = secretKindOf(text.slice(nameIndex, closingIndex));
  if (kind === undefined) return undefined;
  const startIndex = closingIndex + 1;
  const value = /^[^<\s]+(?=<\/)/.exec(text.slice(startIndex, startIndex + MAX_CONTENT_CHARS))?.[0];
  if (value === undefined || !isSecretValue(value, { kind, form: "line" })) return undefined;
  return withVendor(text, { startIndex, endIndex: startIndex + value.length, type: typeOfKind(kind) });
}

const MIN_ARGUMENT_CHARS = 16;
const MAX_CONTENT_CHARS = 1_024;

function isQuote(character: string): boolean {
  return character === '"' || character === "'" || character === "`";
}
