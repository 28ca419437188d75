import { withVendor } from "./run-token.ts";
import { secretKindOf, typeOfKind } from "./secret-name.ts";
import { type SecretSpan, type TextSpan, textOf } from "./secret-span.ts";
import { isSecretValue } from "./secret-value.ts";
import { valueAt } from "./value-at.ts";

/** Tells whether a word is a command-line option. */
export function isOption(text: string, word: TextSpan): boolean {
  return text.charAt(word.startIndex) === "-";
}

/** Finds the secret that follows an option: a secret-looking one, a user with password, or a known command's password. */
export function matchOption(text: string, word: TextSpan): SecretSpan | undefined {
  const option = textOf(text, word);
  const index = word.endIndex + 1;
  if (/^(?:-u|-U|--user|--proxy-user)$/.test(option)) return matchUserPair(text, index);
  const isPassword = /^-[pPaw]$/.test(option) && followsPasswordCommand(text, word.startIndex);
  const kind = isPassword ? "password" : secretKindOf(option);
  if (kind === undefined || text.charAt(index) === "-") return undefined;
  const value = valueAt(text, { index, place: "spaced" });
  if (value === undefined || !isSecretValue(textOf(text, value), { kind, form: value.form }))
    return undefined;
  return withVendor(text, { ...value, type: typeOfKind(kind) });
}

/** Finds the password written right behind its option, as database clients take it. */
export function matchGluedPassword(text: string, optionIndex: number): SecretSpan | undefined {
  if (!text.startsWith("-p", optionIndex) || !followsPasswordCommand(text, optionIndex)) return undefined;
  const value = valueAt(text, { index: optionIndex + 2, place: "spaced" });
  if (value === undefined) return undefined;
  const isSecret = isSecretValue(textOf(text, value), { kind: "password", form: value.form });
  return isSecret ? { ...value, type: "password" } : undefined;
}

const PASSWORD_COMMAND =
  /\b(?:mysql\w*|mariadb\w*|sshpass|mongo\w*|docker login|podman login|helm registry login|az login|sqlcmd|redis-cli|ldap\w+|7z|unzip|smbclient)\b[^\n|;&]*$/;

function followsPasswordCommand(text: string, optionIndex: number): boolean {
  return PASSWORD_COMMAND.test(text.slice(Math.max(0, optionIndex - 160), optionIndex));
}

const USER_PAIR = /^\\?["']?[^\s"'\\:$]{1,100}:([^\s"'\\]{4,200})/;

function matchUserPair(text: string, index: number): SecretSpan | undefined {
  const pair = USER_PAIR.exec(text.slice(index, index + 320));
  const password = pair?.[1] ?? "";
  if (pair === null || !isSecretValue(password, { kind: "password", form: "line" })) return undefined;
  const endIndex = index + pair[0].length;
  return { startIndex: endIndex - password.length, endIndex, type: "password" };
}
