import { DOTTED } from "./alphabet.ts";
import { withVendor } from "./match-token.ts";
import {
  isGeneratedPassword,
  isMadePassword,
  isSecretValue,
  type SecretKind,
  type SecretSpan,
  secretKindOf,
  sliceSpan,
  type TextSpan,
  typeOfKind,
  type ValueForm,
} from "./secret-value.ts";

/** Finds the secret assigned to a secret-looking name, from the separator: in settings, JSON, headers, code and parameters. */
export function matchAssignment(text: string, separatorIndex: number): SecretSpan | undefined {
  const name = nameBefore(text, separatorIndex);
  if (name === undefined) return undefined;
  const opensSession = text.charAt(separatorIndex) === "=" && isSessionName(text, name);
  const kind = secretKindOf(name.text) ?? (opensSession ? "token" : undefined);
  const index = skipToValue(text, separatorIndex);
  if (kind === undefined) return SEED_NAME.test(name.text) ? matchSeedPhrase(text, index) : undefined;

  const value = valueAt(text, { index, place: placeOf(text, { name, index }), kind });
  if (value === undefined) return undefined;
  // Test reports are full of "PASS: name".
  if (/^P(?:ass|ASS)$/.test(name.text) && value.form !== "quoted") return undefined;
  return secretOfKind(text, { ...value, kind });
}

/** The secret in a value whose name says what kind it is; undefined when the value cannot be one. */
export function secretOfKind(
  text: string,
  value: FoundValue & { readonly kind: SecretKind },
): SecretSpan | undefined {
  const { startIndex, endIndex, kind, form } = value;
  const content = sliceSpan(text, value);
  // A line break between two quotes is where a long line was broken.
  const whole = form === "quoted" ? content.replace(WRAP, "") : content;
  if (!isSecretValue(whole, value)) return undefined;
  return withVendor(text, { startIndex, endIndex, type: typeOfKind(kind) });
}

const WRAP = /\\?\r?\n[ \t>|+-]{0,20}/;

/** Where the value behind a separator begins: the rest of an operator, emphasis, blanks and block marks are skipped. */
function skipToValue(text: string, separatorIndex: number): number {
  BEFORE_VALUE.lastIndex = separatorIndex + 1;
  return separatorIndex + 1 + (BEFORE_VALUE.exec(text)?.[0].length ?? 0);
}

const BEFORE_VALUE =
  /[=>:~*]{0,3}[ \t]{0,40}(?:base64:|ConvertTo-SecureString |[|>][+-]?[ \t]{0,4}\r?\n[ \t]{1,40}|\r?\n[ \t]{0,40}(?=["']))?/y;

// A signature is a secret only in a link, and a session identifier only in a cookie.
function isSessionName(text: string, name: FoundName): boolean {
  const before = text.charAt(name.startIndex - 1);
  return before === "?" || before === "&" ? SIGNED_PARAMETER.test(name.text) : SESSION_COOKIE.test(name.text);
}

const SIGNED_PARAMETER = /^(?:sig|key|code|.*signature|.*credential)$/i;
const SESSION_COOKIE =
  /^(?:jsessionid|phpsessid|asp\.net_sessionid|connect\.sid|laravel_session|_\w+_session)$/i;
const SEED_NAME = /^(?:\w*mnemonic|(?:\w*[_-])?(?:seed|recovery)[_-]?(?:phrase|words))$/i;
const SEED_PHRASE = /^\\?["'`]?([a-z]{3,8}(?: [a-z]{3,8}){11,23})(?![a-z ])/;

function matchSeedPhrase(text: string, index: number): SecretSpan | undefined {
  const match = SEED_PHRASE.exec(text.slice(index, index + 240));
  if (match === null) return undefined;
  const endIndex = index + match[0].length;
  return { startIndex: endIndex - (match[1] ?? "").length, endIndex, type: "seed-phrase" };
}

function placeOf(
  text: string,
  { name, index }: { readonly name: FoundName; readonly index: number },
): ValuePlace {
  const before = text.charAt(name.startIndex - 1);
  if (before === "?" || before === "&" || before === ";") return "parameter";
  if (/\s/.test(text.charAt(index - 1))) return "spaced";
  return startsSettingsLine(text, name) ? "settings-line" : "tight";
}

function startsSettingsLine(text: string, name: FoundName): boolean {
  if (!/^[A-Z][A-Z\d_]*$/.test(name.text)) return false;
  const before = text.slice(Math.max(0, name.startIndex - 24), name.startIndex);
  return /(?:^|[\n\\]n?)[\s+>|\d→:-]*(?:export |set |ENV |ARG |declare -x )?$/.test(before);
}

/** Finds a quoted argument, from the bracket after a secret-looking function or the comma after such a name. */
export function matchArgument(text: string, markIndex: number): SecretSpan | undefined {
  const isComma = text.charAt(markIndex) === ",";
  if (isComma && !isQuote(text.charAt(markIndex - 1))) return undefined;
  const next = text.charAt(markIndex + 1);
  if (next !== " " && next !== "\\" && !isQuote(next)) return undefined;
  const nameEnd = isComma ? endOfNameBefore(text, markIndex) : markIndex;
  const name = text.slice(startOfName(text, nameEnd), nameEnd);
  const kind = secretKindOf(name);
  if (kind === undefined) return undefined;
  const value = valueAt(text, { index: skipToValue(text, markIndex), place: "tight" });
  if (value?.form !== "quoted") return undefined;
  // "define('DB_PASSWORD', '…')" names a setting.
  if (isComma && SETTING_NAME.test(name)) return secretOfKind(text, { ...value, kind });
  if (value.endIndex - value.startIndex < MIN_ARGUMENT_CHARS) return undefined;
  return secretOfKind(text, { ...value, kind, form: "loose" });
}

/** Finds the secret inside an XML element with a secret-looking name, from the end of its opening tag. */
export function matchElement(text: string, closingIndex: number): SecretSpan | undefined {
  const nameIndex = startOfName(text, closingIndex);
  if (nameIndex === closingIndex || text.charAt(nameIndex - 1) !== "<") return undefined;
  const kind = secretKindOf(text.slice(nameIndex, closingIndex));
  if (kind === undefined) return undefined;
  const startIndex = closingIndex + 1;
  const value = /^[^<\s]+(?:\r?\n[ \t>|+-]{0,20}[^<\s]+)?(?=<\/)/.exec(
    text.slice(startIndex, startIndex + MAX_CONTENT_CHARS),
  )?.[0];
  if (value === undefined) return undefined;
  return secretOfKind(text, { startIndex, endIndex: startIndex + value.length, kind, form: "quoted" });
}

const SETTING_NAME = /^[A-Z\d]+(?:_[A-Z\d]+)+$/;
const MIN_ARGUMENT_CHARS = 16;
const MAX_CONTENT_CHARS = 1_024;

function isQuote(character: string): boolean {
  return character === '"' || character === "'" || character === "`";
}

/** A name that stands before a separator, and where it begins. */
interface FoundName {
  readonly text: string;
  readonly startIndex: number;
}

/** The name that a separator belongs to; undefined when it cannot be that of a secret. */
function nameBefore(text: string, separatorIndex: number): FoundName | undefined {
  const endIndex = endOfNameBefore(text, separatorIndex);
  const startIndex = startOfName(text, endIndex);
  const word = text.slice(startIndex, endIndex);
  const separator = text.charAt(separatorIndex);
  if (separator === "=" && word === "default") return pairedName(text, startIndex);
  if (!MAYBE_SECRET_NAME.test(word)) return undefined;
  // Between two colons a word is part of a path such as a cloud resource name, unless a blank follows.
  const isInPath = separator === ":" && text.charAt(startIndex - 1) === ":";
  if (isInPath && text.charAt(separatorIndex + 1) !== " " && !isLineOfFile(text, startIndex))
    return undefined;
  if (TYPE_WORD.test(word)) return typedName(text, startIndex);
  if (word.toLowerCase() === "value") return pairedName(text, startIndex);
  return spacedName(text, { text: word, startIndex });
}

// "file.env:3:x-api-key: …" is a line that a search has found.
function isLineOfFile(text: string, nameIndex: number): boolean {
  return /(?:^|[\s:])\d{1,6}:$/.test(text.slice(Math.max(0, nameIndex - 8), nameIndex));
}

/** Where the name before a separator ends: blanks, quotes and closing marks between them are skipped. */
function endOfNameBefore(text: string, separatorIndex: number): number {
  const limitIndex = Math.max(0, separatorIndex - MAX_GAP_CHARS);
  let index = separatorIndex;
  while (index > limitIndex && " \t:+?!".includes(text.charAt(index - 1))) index--;
  while (index > limitIndex && "\"'`*\\]".includes(text.charAt(index - 1))) index--;
  return index;
}

/** Where the name that ends at the index begins. */
function startOfName(text: string, endIndex: number): number {
  const limitIndex = Math.max(0, endIndex - MAX_NAME_CHARS);
  let index = endIndex;
  while (index > limitIndex && DOTTED.has(text.charCodeAt(index - 1))) index--;
  return index;
}

/** Joins a noun with the words before it into one name, as in "Secret access key". */
export function spacedName(text: string, noun: FoundName): FoundName {
  if (text.charAt(noun.startIndex - 1) !== " " || !SPACED_NOUN.test(noun.text)) return noun;
  const before = text.slice(Math.max(0, noun.startIndex - MAX_GAP_CHARS), noun.startIndex);
  const words = /(?:[A-Za-z]+ ){1,2}$/.exec(before)?.[0] ?? "";
  return { text: words + noun.text, startIndex: noun.startIndex - words.length };
}

const MAX_NAME_CHARS = 80;
const MAX_GAP_CHARS = 40;

// A cheap check first: rules out nearly every name in ordinary text.
const MAYBE_SECRET_NAME =
  /pass|pwd|secret|token|key|auth|cred|bearer|psk|pw|pat|sen|kennw|wachtw|value|str|text|any|code|sig|sess|sid|mnemonic|phrase|words/i;
const TYPE_WORD = /^(?:string|str|text|any)$/i;
const SPACED_NOUN = /^(?:key|token|password|secret|pw)$/i;

// "const apiKey: string = …" names its type last.
function typedName(text: string, typeIndex: number): FoundName | undefined {
  const gap = /[\s&]*$/.exec(text.slice(Math.max(0, typeIndex - 4), typeIndex))?.[0] ?? "";
  const colonIndex = typeIndex - gap.length - 1;
  if (text.charAt(colonIndex) !== ":") return undefined;
  const endIndex = endOfNameBefore(text, colonIndex);
  const startIndex = startOfName(text, endIndex);
  return { text: text.slice(startIndex, endIndex), startIndex };
}

// "name: DB_PASSWORD, value: …" keeps the name in the field before.
function pairedName(text: string, valueWordIndex: number): FoundName | undefined {
  const before = text.slice(Math.max(0, valueWordIndex - 200), valueWordIndex);
  const pair = PAIR.exec(before) ?? VARIABLE.exec(before);
  return pair === null ? undefined : { text: pair[1] ?? "", startIndex: valueWordIndex };
}

// The value may stand on the next line, behind what a program prints before each line.
const PAIR =
  /(?:name|key)\\*["']{0,2}\s*[:=]\s*\\*["']{0,2}([\w.-]+)\\*["']{0,2}[\s,;]*(?:(?:\n|\\n)[^\n]{0,80}[ \t])?\\*["']?$/i;
const VARIABLE = /variable\s+\\*"{1,2}([\w.-]+)\\*"{1,2}\s*\{[^{}]*$/;

/** A value found in a text, without its quotes. */
interface FoundValue extends TextSpan {
  readonly form: ValueForm;
}

/**
 * Where a value stands, which decides where it ends. `settings-line`: at a blank. `parameter`: at its separator.
 * `spaced` (after a blank): an equals sign may be inside. `tight` (directly after the separator): it may not.
 */
export type ValuePlace = "settings-line" | "parameter" | "spaced" | "tight";

/** Where a value is expected to begin. */
interface ValueStart {
  readonly index: number;
  readonly place: ValuePlace;
  readonly kind?: SecretKind;
}

/** Reads the value that begins there: in quotes (escaped ones too), or up to where its place ends it. */
export function valueAt(text: string, { index, place, kind }: ValueStart): FoundValue | undefined {
  const ahead = text.slice(index, index + MAX_VALUE_CHARS);
  const opening = OPENING_QUOTE.exec(ahead);
  const bare = () => (kind === "password" ? barePassword(ahead) : undefined) ?? bareValue(ahead, place);
  const value = opening === null ? bare() : quotedValue(ahead, opening);
  if (value === undefined) return undefined;
  return { ...value, startIndex: index + value.startIndex, endIndex: index + value.endIndex };
}

const MAX_VALUE_CHARS = 4_096;
// In a table or a query a quote inside of quotes is doubled.
const OPENING_QUOTE = /^(?:[bfruL@$]{1,2})?(\\*)('\\''|(["'])\3(?=[\w!#$%&*+./=?@^~-])|["'`])/;
const UNTIL_BLANK = /^[^\s"'`<>\\]+/;
const UNTIL_END: Readonly<Record<ValuePlace, RegExp>> = {
  "settings-line": UNTIL_BLANK,
  parameter: /^[^\s"'`<>\\;&#,)\]}]+/,
  spaced: /^[^\s"'`<>\\,;&|(){}[\]]+/,
  // An equals sign may only be padding here; otherwise "a=b=c=…" would be read once per part.
  tight: /^[^\s"'`<>\\,;&|(){}[\]=:]+(?:={1,2}(?![^\s"'`<>\\,;&|(){}[\]]))?/,
};

function bareValue(ahead: string, place: ValuePlace): FoundValue | undefined {
  const whole = UNTIL_END[place].exec(ahead)?.[0] ?? "";
  const next = ahead.charAt(whole.length);
  // An opening bracket makes it a call, an index or a literal.
  if (whole === "" || next === "(" || next === "[" || next === "{") return undefined;
  if (place === "settings-line") return { startIndex: 0, endIndex: whole.length, form: "line" };
  const isClean =
    place === "parameter" ||
    /^(?:$|[\s"'`<\\])/.test(next) ||
    (place === "tight" && isShellValue(whole, ahead.slice(whole.length, whole.length + 4)));
  return { startIndex: 0, endIndex: whole.replace(/[.,:]+$/, "").length, form: isClean ? "line" : "loose" };
}

/**
 * True for a value that is followed by the next shell command. In code, a name would stand there instead, with digits
 * in at most one place.
 */
function isShellValue(value: string, after: string): boolean {
  return /^;(?:$|[ \t]+[\w./$])/.test(after) && (/\d.*\D\d/.test(value) || /^[a-z]+\d+[a-z\d]*$/.test(value));
}

/** A password without quotes may hold any character: it ends at a blank, a quote, a tag or the next name. */
function barePassword(ahead: string): FoundValue | undefined {
  const shown = ahead.slice(0, MAX_PASSWORD_CHARS);
  if (!/^[^\s"'`\\A-Z\d]{0,32}[A-Z\d]/.test(shown)) return undefined;
  const whole = BARE_PASSWORD.exec(shown)?.[0] ?? "";
  if (!/[^\w.+/~!@%^*?$-]/.test(whole) || /\|\||&&/.test(whole)) return undefined;
  let value = whole;
  for (;;) {
    const opening = "([{".charAt(")]}".indexOf(value.slice(-1)));
    if (!".,:;".includes(value.slice(-1)) && (opening === "" || value.includes(opening))) break;
    value = value.slice(0, -1);
  }
  return isGeneratedPassword(value, "line") || isMadePassword(value)
    ? { startIndex: 0, endIndex: value.length, form: "line" }
    : undefined;
}

const MAX_PASSWORD_CHARS = 128;
const BARE_PASSWORD =
  /^(?:[^\s"'`\\<&;,]+|<(?!\/|!|[a-zA-Z]{1,10}[\s/>])|(?:[&,]|;(?!(?:[A-Z]?[a-z]+ ){1,3}\w+=))(?![A-Za-z_][\w.-]{0,39}[=:]|\s|$))+/;

function quotedValue(ahead: string, opening: RegExpExecArray): FoundValue | undefined {
  const startIndex = opening[0].length;
  const closing = `${opening[1] ?? ""}${opening[2] ?? ""}`;
  let endIndex = ahead.indexOf(closing, startIndex);
  // A longer row of backslashes escapes a quote that belongs to the value.
  while (endIndex > 0 && ahead.charAt(endIndex - 1) === "\\") endIndex = ahead.indexOf(closing, endIndex + 1);
  if (endIndex > startIndex) return { startIndex, endIndex, form: "quoted" };
  if (endIndex === startIndex) return undefined;
  const cut = UNTIL_BLANK.exec(ahead.slice(startIndex))?.[0] ?? "";
  return cut === "" ? undefined : { startIndex, endIndex: startIndex + cut.length, form: "line" };
}
