import { isSecretValue, type SecretSpan } from "./secret-value.ts";

/** Finds the password hash of a line of a password file, from its first dollar sign. */
export function matchPasswordHash(text: string, dollarIndex: number): SecretSpan | undefined {
  if (text.charAt(dollarIndex - 1) !== ":") return undefined;
  PASSWORD_HASH.lastIndex = dollarIndex;
  const match = PASSWORD_HASH.exec(text);
  if (match === null) return undefined;
  return { startIndex: dollarIndex, endIndex: dollarIndex + match[0].length, type: "password-hash" };
}

/** Finds the password in a line of host, port, database, user and password, from the colon after the host. */
export function matchPasswordLine(text: string, colonIndex: number): SecretSpan | undefined {
  PASSWORD_LINE.lastIndex = colonIndex;
  const match = PASSWORD_LINE.exec(text);
  const password = match?.[1] ?? "";
  if (match === null || !isSecretValue(password, { kind: "password", form: "line" })) return undefined;
  const endIndex = colonIndex + match[0].length;
  return { startIndex: endIndex - password.length, endIndex, type: "password" };
}

const PASSWORD_HASH = /\$(?:apr1|[1567y]|2[abxy]|argon2\w{1,2})\$[\w./$=,+-]{20,200}/y;
const PASSWORD_LINE =
  /:(?:\d{2,5}|\*):(?:\*|[A-Za-z_][\w.-]{0,62}):[A-Za-z_][\w.-]{0,62}:([^\s:"']{6,100})(?=[\s"']|$)/y;
