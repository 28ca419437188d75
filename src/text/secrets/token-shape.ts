import type { SecretSpan, TextSpan } from "./secret-span.ts";

/** Finds a token without a prefix that its inner shape gives away, at the start of a run. */
export function matchShape(text: string, run: TextSpan): SecretSpan | undefined {
  const runChars = run.endIndex - run.startIndex;
  if (runChars < SHORTEST_SHAPE_CHARS) return undefined;
  for (const { type, minChars, pattern } of SHAPES) {
    if (runChars < minChars) continue;
    pattern.lastIndex = run.startIndex;
    const match = pattern.exec(text);
    if (match === null) continue;
    const leadChars = type === "google-refresh-token" ? "1//".length : 0;
    return { startIndex: run.startIndex - leadChars, endIndex: run.startIndex + match[0].length, type };
  }
  return undefined;
}

interface Shape {
  readonly type: string;
  readonly minChars: number;
  readonly pattern: RegExp;
}

const SHORTEST_SHAPE_CHARS = 30;

const SHAPES: readonly Shape[] = [
  { type: "terraform-token", minChars: 30, pattern: /[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,200}/y },
  { type: "newrelic-license", minChars: 32, pattern: /[a-z]{2}\d{2}xx[a-f0-9]{26,34}(?!\w)/y },
  { type: "newrelic-license", minChars: 36, pattern: /[a-f0-9]{32,36}(?:FFFF)?NRAL(?!\w)/y },
  { type: "mailchimp-key", minChars: 36, pattern: /[a-f0-9]{32}-us\d{1,2}(?![\w-])/y },
  { type: "google-refresh-token", minChars: 36, pattern: /(?<=1\/\/)0[\w-]{35,}/y },
  { type: "mollie-key", minChars: 35, pattern: /live_[A-Za-z0-9]{30,}(?!\w)/y },
  { type: "lob-key", minChars: 40, pattern: /(?:live|test)_[a-f0-9]{35}(?!\w)/y },
  { type: "maxmind-key", minChars: 40, pattern: /[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?!\w)/y },
  {
    type: "clickhouse-key",
    minChars: 42,
    pattern: /4b1d(?=[A-Z0-9a-f]*[g-z])[A-Za-z0-9]{38}(?![\w.-])/y,
  },
  { type: "zhipu-key", minChars: 49, pattern: /[a-f0-9]{32}\.[A-Za-z0-9]{16}(?![\w.-])/y },
  { type: "ngrok-token", minChars: 49, pattern: /[12][A-Za-z0-9]{26}_[A-Za-z0-9]{21}(?![\w.-])/y },
  { type: "mailgun-key", minChars: 50, pattern: /[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![\w-])/y },
  { type: "discord-token", minChars: 55, pattern: /[MNO][\w-]{22,27}\.[\w-]{6,7}\.[\w-]{27,}/y },
  { type: "azure-key", minChars: 80, pattern: /[A-Za-z0-9]{40,64}JQQJ99[A-Za-z0-9]{20,}/y },
];
