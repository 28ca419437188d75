import { isIn, WORD } from "./alphabet.ts";
import { namedSpan } from "./run-token.ts";
import { secretKindOf, typeOfKind } from "./secret-name.ts";
import type { SecretSpan } from "./secret-span.ts";
import { isSecretValue } from "./secret-value.ts";
import { type ValuePlace, valueAt } from "./value-at.ts";

/** Finds the secret given to a secret-looking name at a separator, as in settings, JSON, headers, code and parameters. */
export function matchAssignment(text: string, separatorIndex: number): SecretSpan | undefined {
  const name = nameBefore(text, separatorIndex);
  if (name === undefined) return undefined;
  const kind = secretKindOf(name.text) ?? (opensSession(text, name, separatorIndex) ? "token" : undefined);
  if (kind === undefined) return matchSeedPhrase(text, name, separatorIndex);

  const valueIndex = skipToValue(text, separatorIndex);
  const value = valueAt(text, valueIndex, placeOf(text, name, valueIndex));
  if (value === undefined) return undefined;
  // Test reports are full of "PASS: name".
  if (/^P(?:ass|ASS)$/.test(name.text) && value.form !== "quoted") return undefined;
  if (!isSecretValue(text.slice(value.startIndex, value.endIndex), kind, value.form)) return undefined;
  return namedSpan(text, value, typeOfKind(kind));
}

/** Finds the secret handed over in quotes, from the bracket after a secret-looking function or the comma after such a name. */
export function matchArgument(text: string, markIndex: number): SecretSpan | undefined {
  const isComma = text.charAt(markIndex) === ",";
  if (isComma && !isQuote(text.charAt(markIndex - 1))) return undefined;
  const valueIndex = skipToValue(text, markIndex);
  if (!isQuote(text.charAt(valueIndex)) && text.charAt(valueIndex) !== "\\") return undefined;
  const nameEnd = isComma ? skipBack(text, markIndex) : markIndex;
  const kind = secretKindOf(text.slice(startOfName(text, nameEnd), nameEnd));
  const value = kind === undefined ? undefined : valueAt(text, valueIndex, "tight");
  if (kind === undefined || value === undefined || value.form !== "quoted") return undefined;
  const content = text.slice(value.startIndex, value.endIndex);
  const isSecret = content.length >= 16 && isSecretValue(content, kind, "loose");
  return isSecret ? namedSpan(text, value, typeOfKind(kind)) : undefined;
}

function isQuote(character: string): boolean {
  return character === '"' || character === "'" || character === "`";
}

/** Finds the secret inside an element with a secret-looking name, from the mark that closes its opening tag. */
export function matchElement(text: string, closingIndex: number): SecretSpan | undefined {
  const startIndex = startOfName(text, closingIndex);
  if (startIndex === closingIndex || text.charAt(startIndex - 1) !== "<") return undefined;
  const kind = secretKindOf(text.slice(startIndex, closingIndex));
  if (kind === undefined) return undefined;
  const value = /^[^<\s]+(?=<\/)/.exec(text.slice(closingIndex + 1, closingIndex + 1_025))?.[0];
  if (value === undefined || !isSecretValue(value, kind, "line")) return undefined;
  return { startIndex: closingIndex + 1, endIndex: closingIndex + 1 + value.length, type: typeOfKind(kind) };
}

/** A name that stands before a separator, and where it begins. */
interface FoundName {
  readonly text: string;
  readonly startIndex: number;
}

const MAX_NAME_CHARS = 80;
const MAX_GAP_CHARS = 40;

function nameBefore(text: string, separatorIndex: number): FoundName | undefined {
  const endIndex = skipBack(text, separatorIndex);
  const startIndex = startOfName(text, endIndex);
  if (startIndex === endIndex) return undefined;
  // Between two colons a word is part of a path such as a cloud resource name.
  if (text.charAt(separatorIndex) === ":" && text.charAt(startIndex - 1) === ":") return undefined;
  const word = text.slice(startIndex, endIndex);
  if (!WORTH_A_LOOK.test(word)) return undefined;
  if (TYPE_WORD.test(word)) return typedName(text, startIndex);
  if (word.toLowerCase() === "value") return pairedName(text, startIndex);
  const isTight = text.charAt(separatorIndex) === "=" && endIndex === separatorIndex;
  if (!isTight && SPACED_NOUN.test(word)) return spacedName(text, startIndex, word);
  return { text: word, startIndex };
}

// Nearly every name of real text is dismissed by this one look.
const WORTH_A_LOOK =
  /pass|pwd|secret|token|key|auth|cred|bearer|psk|pw|pat|sen|kennw|wachtw|value|str|text|any|code|sig|sess|sid|mnemonic|phrase|words/i;

function skipBack(text: string, separatorIndex: number): number {
  const limitIndex = Math.max(0, separatorIndex - MAX_GAP_CHARS);
  let index = separatorIndex;
  while (index > limitIndex && " \t:+?!".includes(text.charAt(index - 1))) index--;
  while (index > limitIndex && "\"'`*\\]".includes(text.charAt(index - 1))) index--;
  return index;
}

function startOfName(text: string, endIndex: number): number {
  const limitIndex = Math.max(0, endIndex - MAX_NAME_CHARS);
  let index = endIndex;
  while (index > limitIndex && (isIn(WORD, text.charCodeAt(index - 1)) || text.charAt(index - 1) === "."))
    index--;
  return index;
}

const TYPE_WORD = /^(?:string|str|text|any)$/i;

// "const apiKey: string = …" names its type last.
function typedName(text: string, typeIndex: number): FoundName | undefined {
  const colonIndex =
    typeIndex - 1 - (/[\s&]*$/.exec(text.slice(Math.max(0, typeIndex - 4), typeIndex))?.[0].length ?? 0);
  if (text.charAt(colonIndex) !== ":") return undefined;
  const endIndex = skipBack(text, colonIndex);
  const startIndex = startOfName(text, endIndex);
  return { text: text.slice(startIndex, endIndex), startIndex };
}

// "name: DB_PASSWORD, value: …" keeps the name in the field before.
function pairedName(text: string, valueWordIndex: number): FoundName | undefined {
  const before = text.slice(Math.max(0, valueWordIndex - 120), valueWordIndex);
  const pair = /(?:name|key)\\?["']?\s*[:=]\s*\\?["']?([\w.-]+)\\?["']?[\s,;]*\\?["']?$/i.exec(before);
  return pair === null ? undefined : { text: pair[1] ?? "", startIndex: valueWordIndex };
}

const SPACED_NOUN = /^(?:key|token|password|secret|code|phrase)$/i;

// "Secret access key: …" spreads its name over words.
function spacedName(text: string, nounIndex: number, noun: string): FoundName {
  const before = text.slice(Math.max(0, nounIndex - 32), nounIndex);
  const words = /(?:[A-Za-z]+ ){1,2}$/.exec(before)?.[0] ?? "";
  return { text: words + noun, startIndex: nounIndex - words.length };
}

// A signature in a link and an identifier in a cookie open what they name; anywhere else they stay.
function opensSession(text: string, name: FoundName, separatorIndex: number): boolean {
  if (text.charAt(separatorIndex) !== "=") return false;
  const before = text.charAt(name.startIndex - 1);
  if (before === "?" || before === "&") return /^(?:sig|key|code|.*signature|.*credential)$/i.test(name.text);
  return /^(?:jsessionid|phpsessid|asp\.net_sessionid|connect\.sid|laravel_session|_\w+_session)$/i.test(
    name.text,
  );
}

function matchSeedPhrase(text: string, name: FoundName, separatorIndex: number): SecretSpan | undefined {
  if (!/^(?:\w*mnemonic|(?:\w*[_-])?(?:seed|recovery)[_-]?(?:phrase|words))$/i.test(name.text))
    return undefined;
  const phraseIndex = skipToValue(text, separatorIndex);
  const phrase = /^\\?["'`]?([a-z]{3,8}(?: [a-z]{3,8}){11,23})(?![a-z ])/.exec(
    text.slice(phraseIndex, phraseIndex + 240),
  );
  if (phrase === null) return undefined;
  const endIndex = phraseIndex + phrase[0].length;
  return { startIndex: endIndex - (phrase[1] ?? "").length, endIndex, type: "seed-phrase" };
}

function skipToValue(text: string, separatorIndex: number): number {
  let index = separatorIndex + 1;
  while (index < separatorIndex + 4 && "=>:~*".includes(text.charAt(index))) index++;
  const limitIndex = index + MAX_GAP_CHARS;
  while (index < limitIndex && (text.charAt(index) === " " || text.charAt(index) === "\t")) index++;
  return index;
}

function placeOf(text: string, name: FoundName, valueIndex: number): ValuePlace {
  const before = text.charAt(name.startIndex - 1);
  if (before === "?" || before === "&" || before === ";") return "parameter";
  if (/\s/.test(text.charAt(valueIndex - 1))) return "spaced";
  return startsSettingsLine(text, name) ? "settings-line" : "tight";
}

function startsSettingsLine(text: string, name: FoundName): boolean {
  if (!/^[A-Z][A-Z\d_]*$/.test(name.text)) return false;
  const before = text.slice(Math.max(0, name.startIndex - 24), name.startIndex);
  return /(?:^|[\n\\]n?)[\s+>|\d→:-]*(?:export |set |ENV |ARG |declare -x )?$/.test(before);
}
