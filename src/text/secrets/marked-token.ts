import { HEADER_TOKEN } from "./alphabet.ts";
import type { SecretSpan } from "./secret-span.ts";

/** Finds a token that has a colon, bar, tilde or dollar inside, from that mark. */
export function matchMarkedToken(text: string, markIndex: number): SecretSpan | undefined {
  const tail = text.slice(markIndex + 1, markIndex + 1 + MIN_TAIL_CHARS);
  if (HEADER_TOKEN.endOfRun(tail, 0) < MIN_TAIL_CHARS) return undefined;
  const before = text.slice(Math.max(0, markIndex - MAX_HEAD_CHARS), markIndex);
  for (const format of FORMATS) {
    if (text.charAt(markIndex) !== format.mark) continue;
    const head = format.head.exec(before);
    if (head === null) continue;
    format.tail.lastIndex = markIndex + 1;
    const match = format.tail.exec(text);
    if (match === null) continue;
    const endIndex = markIndex + 1 + match[0].length;
    return { startIndex: markIndex - head[0].length, endIndex, type: format.type };
  }
  return undefined;
}

const MIN_TAIL_CHARS = 20;
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
  { type: "jetbrains-token", mark: ":", head: /(?:\b|(?<=\\[nrt]))perm$/, tail: /[\w+/=.-]{40,200}/y },
  { type: "twitch-token", mark: ":", head: /(?:\b|(?<=\\[nrt]))oauth$/, tail: /[a-z0-9]{28,32}(?!\w)/y },
  { type: "ably-key", mark: ":", head: /\b[\w-]{6,8}\.[\w-]{6}$/, tail: /[\w-]{20,48}(?![\w-])/y },
  { type: "facebook-token", mark: "|", head: /(?<!\d)\d{15,16}$/, tail: /[\w-]{27,40}(?![\w-])/y },
  { type: "azure-secret", mark: "~", head: /(?<=^|[^\w~.-]|\\[nrt])[\w~.-]{3}\dQ$/, tail: /[\w~.-]{31,37}/y },
  { type: "openshift-token", mark: "~", head: /(?:\b|(?<=\\[nrt]))sha256$/, tail: /[\w-]{43}/y },
  {
    type: "braintree-token",
    mark: "$",
    head: /(?:\b|(?<=\\[nrt]))access_token\$(?:production|sandbox)\$[a-z0-9]{16}$/,
    tail: /[a-f0-9]{32}/y,
  },
];
