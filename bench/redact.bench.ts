import { fenceData } from "../src/text/fence.ts";
import { normalizeText } from "../src/text/normalize.ts";
import { redactSecrets } from "../src/text/secrets/redact-secrets.ts";
import { generateSession } from "./generate-session.ts";
import { printTable, ratioOf } from "./measure.ts";

/** Prints what redaction costs beside reading the text and beside a JSON round trip, and how it grows on hostile text. */
export async function benchRedact(): Promise<void> {
  const rows: string[][] = [
    ["text", "MB", "MB/s", "redact / char pass", "redact / JSON", "normalize / char pass"],
  ];
  for (const { name, text } of realTexts()) {
    const read = () => charPass(text);
    rows.push([
      name,
      (text.length / 1e6).toFixed(1),
      (text.length / 1e6 / secondsOf(() => redactSecrets(text))).toFixed(0),
      times(await ratioOf(() => redactSecrets(text), read)),
      times(
        await ratioOf(
          () => redactSecrets(text),
          () => JSON.parse(JSON.stringify(text)),
        ),
      ),
      times(await ratioOf(() => normalizeText(text), read)),
    ]);
  }
  printTable("Redaction of ordinary text (bar: 5 MB/s)", rows);

  const growth: string[][] = [["made of", "MB/s at 8 MB", "1 to 2 MB", "2 to 4 MB", "4 to 8 MB", "bar"]];
  for (const unit of HOSTILE_UNITS) {
    const runs = [1, 2, 4, 8].map((megabytes) => {
      const text = unit.repeat(Math.ceil((megabytes * 1e6) / unit.length));
      return () => redactSecrets(text);
    });
    const seconds = secondsOfEach(runs);
    const steps = [1, 2, 3].map((step) => times((seconds[step] ?? 0) / (seconds[step - 1] ?? 1)));
    growth.push([JSON.stringify(unit), (8 / (seconds[3] ?? 1)).toFixed(1), ...steps, "≤ 2.5x"]);
  }
  printTable("Growth on text made to be slow", growth);

  const token = ["gh", "p_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");
  const many = Array.from({ length: 10_000 }, (_, index) => `T${index}=${token}`).join("\n");
  const line = `${"a".repeat(5_000_000)} ${token}`;
  printTable("Extremes", [
    ["case", "ms", "bar"],
    ["10,000 secrets in one text", (secondsOf(() => redactSecrets(many)) * 1e3).toFixed(0), "≤ 100"],
    ["5 MB on one line, the secret last", (secondsOf(() => redactSecrets(line)) * 1e3).toFixed(0), "≤ 1000"],
    [
      "fence of 5 MB of brackets",
      (secondsOf(() => fenceData("<[".repeat(2_500_000))) * 1e3).toFixed(0),
      "linear",
    ],
  ]);
}

const HOSTILE_UNITS: readonly string[] = [
  ...["a", "/", "key=", "password=", "password: ", 'password=\\"', "https://a:b", "cookie:a="],
  ...[
    "-----BEGIN PRIVATE KEY-----\n",
    "Private-Lines: 2\nAAAA",
    "eyJaaaaaaaaaa.",
    "fm2_aaaaaaaaaaaaaaaa/",
    "[REDACTED:",
  ],
];

function realTexts(): readonly { readonly name: string; readonly text: string }[] {
  const session = JSON.stringify(generateSession({ messages: 400, toolResults: 300 }));
  const log = Array.from(
    { length: 40_000 },
    (_, index) =>
      `2026-03-16T15:26:${index % 60}.123Z level=info key=value id=${(index * 7919).toString(16)} msg="token refreshed" took=${index % 97}ms`,
  ).join("\n");
  const code = Array.from(
    { length: 20_000 },
    (_, index) =>
      `export function read${index}(options: ReadOptions): Promise<string> {\n  const token = options.tokens[${index}] ?? cache.get("key-${index}");\n  return fetch(\`https://example.test/\${token}\`, { headers: { accept: "text/plain" } });\n}`,
  ).join("\n");
  return [
    { name: "session as JSON", text: session },
    { name: "log", text: log },
    { name: "code", text: code },
  ];
}

function charPass(text: string): number {
  let sum = 0;
  for (let index = 0; index < text.length; index++) sum += text.charCodeAt(index);
  return sum;
}

function secondsOf(run: () => unknown): number {
  return secondsOfEach([run])[0] ?? Number.NaN;
}

/** The best time of each, run alternately so that a busy machine slows all alike. */
function secondsOfEach(runs: readonly (() => unknown)[]): readonly number[] {
  const best = runs.map(() => Number.POSITIVE_INFINITY);
  const until = performance.now() + 4_000;
  for (let round = 0; round < 5 || performance.now() < until; round++) {
    for (const [index, run] of runs.entries()) {
      const start = performance.now();
      run();
      best[index] = Math.min(best[index] ?? 0, (performance.now() - start) / 1e3);
    }
  }
  return best;
}

function times(ratio: number): string {
  return `${ratio.toFixed(2)}x`;
}
