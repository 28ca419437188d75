import { type FoundName, nameBefore } from "./name-before.ts";
import { withVendor } from "./run-token.ts";
import { secretKindOf, typeOfKind } from "./secret-name.ts";
import { type SecretSpan, textOf } from "./secret-span.ts";
import { isSecretValue } from "./secret-value.ts";
import { type ValuePlace, valueAt } from "./value-at.ts";

/** Finds the secret given to a secret-looking name at a separator, as in settings, JSON, headers, code and parameters. */
export function matchAssignment(text: string, separatorIndex: number): SecretSpan | undefined {
  const name = nameBefore(text, separatorIndex);
  if (name === undefined) return undefined;
  const opensSession = text.charAt(separatorIndex) === "=" && isSessionName(text, name);
  const kind = secretKindOf(name.text) ?? (opensSession ? "token" : undefined);
  const index = skipToValue(text, separatorIndex);
  if (kind === undefined) return SEED_NAME.test(name.text) ? matchSeedPhrase(text, index) : undefined;

  const value = valueAt(text, { index, place: placeOf(text, { name, index }) });
  if (value === undefined) return undefined;
  // Test reports are full of "PASS: name".
  if (/^P(?:ass|ASS)$/.test(name.text) && value.form !== "quoted") return undefined;
  if (!isSecretValue(textOf(text, value), { kind, form: value.form })) return undefined;
  return withVendor(text, { ...value, type: typeOfKind(kind) });
}

/** Gives where the value after a separator begins: the rest of an operator, emphasis, blanks and block marks are passed over. */
export function skipToValue(text: string, separatorIndex: number): number {
  BEFORE_VALUE.lastIndex = separatorIndex + 1;
  return separatorIndex + 1 + (BEFORE_VALUE.exec(text)?.[0].length ?? 0);
}

const BEFORE_VALUE =
  /[=>:~*]{0,3}[ \t]{0,40}(?:[|>][+-]?[ \t]{0,4}\r?\n[ \t]{1,40}|\r?\n[ \t]{0,40}(?=["']))?/y;

// A signature in a link and an identifier in a cookie open what they name; anywhere else they stay.
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
