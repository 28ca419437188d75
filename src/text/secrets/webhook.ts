import { isPlaceholder } from "./placeholder-value.ts";
import type { SecretSpan } from "./secret-span.ts";

/** Finds the address whose host stands at the index when whoever knows it may post or read: the whole is the secret. */
export function matchWebhook(text: string, hostIndex: number): SecretSpan | undefined {
  for (const [type, pattern] of WEBHOOKS) {
    pattern.lastIndex = hostIndex;
    const match = pattern.exec(text);
    if (match === null || isPlaceholder(match[0])) continue;
    const scheme = /[a-z]{2,8}:\/\/$/i.exec(text.slice(Math.max(0, hostIndex - 11), hostIndex))?.[0] ?? "";
    return { startIndex: hostIndex - scheme.length, endIndex: hostIndex + match[0].length, type };
  }
  return undefined;
}

const WEBHOOKS: readonly (readonly [type: string, pattern: RegExp])[] = [
  ["slack-webhook", /hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/[\w/]{20,200}/y],
  [
    "discord-webhook",
    /(?:\w{1,20}\.)?discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/\d{5,30}\/[\w-]{20,200}/y,
  ],
  ["teams-webhook", /[\w-]{1,80}\.webhook\.office\.com\/webhookb2\/[\w@/-]{40,400}/y],
  ["teams-webhook", /outlook\.office(?:365)?\.com\/webhook\/[\w@/-]{40,400}/y],
  ["zapier-webhook", /hooks\.zapier\.com\/hooks\/(?:catch|standard)\/\d+\/\w{5,40}/y],
  ["make-webhook", /hook\.(?:\w{1,10}\.)?(?:make|integromat)\.com\/\w{20,60}/y],
  ["feishu-webhook", /open\.(?:feishu\.cn|larksuite\.com)\/open-apis\/bot\/v2\/hook\/[\w-]{20,60}/y],
  ["ifttt-webhook", /maker\.ifttt\.com\/(?:use|trigger\/[\w-]{1,60}(?:\/json)?\/with\/key)\/[\w-]{20,60}/y],
  ["tines-webhook", /[\w-]{1,80}\.tines\.com\/webhook\/\w{20,40}\/\w{20,40}/y],
  ["pagerduty-key", /events\.pagerduty\.com\/integration\/[a-f0-9]{20,40}/y],
  ["alchemy-key", /[\w-]{1,80}\.g\.alchemy\.com\/(?:nft\/)?v\d\/[\w-]{20,60}/y],
  ["infura-key", /[\w-]{1,80}\.infura\.io\/(?:ws\/)?v\d\/[a-f0-9]{32}/y],
  ["mattermost-webhook", /[\w.-]{1,100}\/hooks\/[a-z0-9]{26}(?!\w)/y],
];
