import { endOfRun, HEADER_TOKEN } from "./alphabet.ts";
import type { SecretSpan } from "./secret-span.ts";
import { isSecretValue } from "./secret-value.ts";

/** Finds the hash of a password as password files keep it, from its first dollar. */
export function matchPasswordHash(text: string, dollarIndex: number): SecretSpan | undefined {
  if (text.charAt(dollarIndex - 1) !== ":") return undefined;
  PASSWORD_HASH.lastIndex = dollarIndex;
  const match = PASSWORD_HASH.exec(text);
  if (match === null) return undefined;
  return { startIndex: dollarIndex, endIndex: dollarIndex + match[0].length, type: "password-hash" };
}

const PASSWORD_HASH = /\$(?:apr1|[1567y]|2[abxy]|argon2\w{1,2})\$[\w./$=,+-]{20,200}/y;

/** Finds the password of a line that lists host, port, database, user and password, from the colon after the host. */
export function matchPasswordLine(text: string, colonIndex: number): SecretSpan | undefined {
  PASSWORD_LINE.lastIndex = colonIndex;
  const match = PASSWORD_LINE.exec(text);
  const password = match?.[1] ?? "";
  if (match === null || !isSecretValue(password, "password", "line")) return undefined;
  const endIndex = colonIndex + match[0].length;
  return { startIndex: endIndex - password.length, endIndex, type: "password" };
}

const PASSWORD_LINE =
  /:(?:\d{2,5}|\*):(?:\*|[A-Za-z_][\w.-]{0,62}):[A-Za-z_][\w.-]{0,62}:([^\s:"']{6,100})(?=\s|$)/y;

/** Finds a token that has a colon, bar, tilde or dollar inside, from that mark. */
export function matchMarkedToken(text: string, markIndex: number): SecretSpan | undefined {
  const tailEnd = endOfRun(text, markIndex + 1, HEADER_TOKEN, 24);
  if (tailEnd - markIndex < 21) return undefined;
  const before = text.slice(Math.max(0, markIndex - MAX_HEAD_CHARS), markIndex);
  for (const { type, mark, head, tail } of FORMATS) {
    if (text.charAt(markIndex) !== mark) continue;
    const headMatch = head.exec(before);
    if (headMatch === null) continue;
    tail.lastIndex = markIndex + 1;
    const tailMatch = tail.exec(text);
    if (tailMatch === null) continue;
    return {
      startIndex: markIndex - headMatch[0].length,
      endIndex: markIndex + 1 + tailMatch[0].length,
      type,
    };
  }
  return undefined;
}

const MAX_HEAD_CHARS = 48;

interface MarkedFormat {
  readonly type: string;
  readonly mark: string;
  readonly head: RegExp;
  readonly tail: RegExp;
}

const FORMATS: readonly MarkedFormat[] = [
  { type: "telegram-token", mark: ":", head: /(?<!\d)\d{8,10}$/, tail: /[A-Za-z0-9_-]{34,36}(?![\w-])/y },
  { type: "fcm-key", mark: ":", head: /AAAA[\w-]{7}$/, tail: /APA91b[\w-]{100,200}/y },
  { type: "asana-token", mark: ":", head: /[0-2]\/\d{12,18}(?:\/\d{12,18})?$/, tail: /[a-f0-9]{32}(?!\w)/y },
  { type: "jetbrains-token", mark: ":", head: /\bperm$/, tail: /[\w+/=.-]{40,200}/y },
  { type: "twitch-token", mark: ":", head: /\boauth$/, tail: /[a-z0-9]{28,32}(?!\w)/y },
  { type: "ably-key", mark: ":", head: /[\w-]{6,8}\.[\w-]{6}$/, tail: /[\w-]{20,48}(?![\w-])/y },
  { type: "facebook-token", mark: "|", head: /(?<!\d)\d{15,16}$/, tail: /[\w-]{27,40}(?![\w-])/y },
  { type: "azure-secret", mark: "~", head: /(?<![\w~.-])[\w~.-]{3}\dQ$/, tail: /[\w~.-]{31,37}/y },
  { type: "openshift-token", mark: "~", head: /\bsha256$/, tail: /[\w-]{43}/y },
  {
    type: "braintree-token",
    mark: "$",
    head: /\baccess_token\$(?:production|sandbox)\$[a-z0-9]{16}$/,
    tail: /[a-f0-9]{32}/y,
  },
];
