import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { readTranscript } from "../src/formats/read-transcript.ts";
import { hiddenTexts, RECALL_MAX_CHARS } from "../src/session/recall.ts";
import { createRecallSearch } from "../src/session/search.ts";
import type { IndexedText } from "../src/text/search/text-index.ts";
import type { RedactOptions } from "../src/text/secrets/redact-secrets.ts";
import { createRandom } from "./generate-session.ts";
import { printTable } from "./measure.ts";
import { makeQueries, NATURAL_KINDS, type QueryKind, type RecallQuery } from "./recall-queries.ts";

/** Prints what recall by words costs on 10 MB, and how often it finds what natural queries ask for. */
export async function benchRecall(): Promise<void> {
  printTable(
    "Recall in an archive of 10 MB, time on the processor (bars: index ≤ 1000 ms, a query ≤ 50 ms)",
    [
      ["secrets", "index, ms", "query, median ms", "query, 95 % ms", "substring, median ms"],
      timesOf("left in", undefined),
      timesOf("taken out", {}),
    ],
  );
  for (const [corpus, title] of CORPORA) {
    const folder = resolve("../shared/eval", corpus);
    if (existsSync(folder)) await benchCorpus(folder, title);
    else console.log(`\n${folder} is not there: nothing is asked of ${title}.`);
  }
}

const CORPORA = [
  ["corpus", "the first corpus, on which the weights were chosen"],
  ["corpus2", "the second corpus, which was held out"],
] as const;

function timesOf(name: string, redact: RedactOptions | undefined): readonly string[] {
  const archive = generateArchive();
  const whole = { search: "", maxChars: RECALL_MAX_CHARS };
  const indexMs = cpuMsOf(() => createRecallSearch(redact)(archive, whole), 5);
  const search = createRecallSearch(redact);
  search(archive, whole);
  const queries = makeQueries(archive.slice(0, 400), Array(20).fill(NATURAL_KINDS).flat(), 1);
  const own = queries.map((query) =>
    cpuMsOf(() => search(archive, { search: query.search, maxChars: RECALL_MAX_CHARS })),
  );
  const substring = queries.map((query) => cpuMsOf(() => substringSearch(archive, query.search)));
  return [name, indexMs.toFixed(0), quantile(own, 0.5), quantile(own, 0.95), quantile(substring, 0.5)];
}

/** The minimum CPU time; other programs do not add to it. */
function cpuMsOf(run: () => unknown, rounds = 3): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1e3);
  }
  return least;
}

function quantile(values: readonly number[], share: number): string {
  const sorted = values.toSorted((one, other) => one - other);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1);
}

/** Tool outputs of words with realistic frequencies. */
function generateArchive(): readonly IndexedText[] {
  const random = createRandom(7);
  const syllables = "ba ce di fo gu ha ki lo mu ne pa qui ro su ta ve xo ya zu tor men lin gar".split(" ");
  const part = (): string => syllables[Math.floor(random() * syllables.length)] ?? "";
  const words = Array.from({ length: 30_000 }, (_, number) => {
    const plain = Array.from({ length: 1 + Math.floor(random() * 4) }, part).join("");
    if (number % 3 !== 0) return plain;
    const second = part() + part();
    return number % 2 === 0 ? `${plain}_${second}` : plain + second[0]?.toUpperCase() + second.slice(1);
  });
  const word = (): string => words[Math.floor(words.length * random() ** 4)] ?? "";
  const texts: IndexedText[] = [];
  for (let chars = 0; chars < 10_000_000; ) {
    const lines = Array.from({ length: 1 + Math.floor(120 * random() ** 3) }, (_, line) => {
      const count = 3 + Math.floor(random() * 10);
      return `${line + 1}: ${Array.from({ length: count }, word).join(random() < 0.5 ? " " : ", ")}`;
    });
    const text = lines.join("\n");
    texts.push({ handle: `msg_${texts.length}/0`, text });
    chars += text.length;
  }
  return texts;
}

async function benchCorpus(folder: string, title: string): Promise<void> {
  const scores = new Map<QueryKind, Score>();
  for (const { texts, queries } of await queriesOf(folder)) {
    const search = createRecallSearch(undefined);
    for (const query of queries) {
      const { pieces } = search(texts, { search: query.search, maxChars: RECALL_MAX_CHARS });
      const place = pieces.findIndex(({ handle, alsoIn }) => [handle, ...alsoIn].includes(query.handle));
      const shown = pieces.slice(0, 3).flatMap(({ lines }) => lines.map(({ text }) => text.trim()));
      const score = scores.get(query.kind) ?? { asked: 0, first: 0, three: 0, shown: 0, substring: 0 };
      scores.set(query.kind, score);
      score.asked++;
      if (place === 0) score.first++;
      if (place >= 0 && place < 3) score.three++;
      if (shown.includes(query.line)) score.shown++;
      if (substringSearch(texts, query.search).slice(0, 3).includes(query.handle)) score.substring++;
    }
  }
  const natural = NATURAL_KINDS.flatMap((kind) => scores.get(kind) ?? []);
  const all = natural.reduce(
    (sum, score) => ({
      asked: sum.asked + score.asked,
      first: sum.first + score.first,
      three: sum.three + score.three,
      shown: sum.shown + score.shown,
      substring: sum.substring + score.substring,
    }),
    { asked: 0, first: 0, three: 0, shown: 0, substring: 0 },
  );
  printTable(`The right piece in ${title} (bar: 95 % of the natural ones among the first three)`, [
    ["query", "asked", "first", "first three", "its line shown", "substring, first three"],
    ...[...scores].filter(([kind]) => kind !== "verbatim").map(([kind, score]) => rowOf(kind, score)),
    rowOf("all natural", all),
    ...[...scores].filter(([kind]) => kind === "verbatim").map(([kind, score]) => rowOf(kind, score)),
  ]);
}

interface Score {
  asked: number;
  first: number;
  three: number;
  shown: number;
  substring: number;
}

function rowOf(name: string, { asked, first, three, shown, substring }: Score): readonly string[] {
  const share = (count: number): string => `${((count / asked) * 100).toFixed(1)} %`;
  return [name, String(asked), share(first), share(three), share(shown), share(substring)];
}

/** The former search: texts that contain the query, newest first. */
function substringSearch(texts: readonly IndexedText[], search: string): readonly string[] {
  const wanted = search.toLowerCase();
  return texts.flatMap(({ handle, text }) => (text.toLowerCase().includes(wanted) ? [handle] : []));
}

interface AskedSession {
  readonly texts: readonly IndexedText[];
  readonly queries: readonly RecallQuery[];
}

/** 40 queries of each kind, spread over the sessions; each is asked of all texts of its session. */
async function queriesOf(folder: string): Promise<readonly AskedSession[]> {
  const sessions: { readonly texts: readonly IndexedText[]; readonly queries: RecallQuery[] }[] = [];
  for (const path of readdirSync(folder, { recursive: true }).map(String).sort()) {
    if (!path.endsWith(".gz")) continue;
    const { transcript } = await readTranscript(gunzipSync(readFileSync(`${folder}/${path}`)));
    const texts = [...hiddenTexts(transcript, new Map())];
    if (texts.length >= MIN_TEXTS) sessions.push({ texts, queries: [] });
  }
  for (const kind of [...NATURAL_KINDS, "verbatim"] as const) {
    let made = 0;
    for (let round = 0; made < QUERIES_OF_A_KIND && round < MAX_ROUNDS; round++) {
      for (const [number, { texts, queries }] of sessions.entries()) {
        if (made === QUERIES_OF_A_KIND) break;
        const seed = 1_000 * round + 10 * number + NATURAL_KINDS.indexOf(kind);
        const found = makeQueries(texts, [kind], seed);
        queries.push(...found);
        made += found.length;
      }
    }
  }
  return sessions;
}

const QUERIES_OF_A_KIND = 40;
const MIN_TEXTS = 30;
const MAX_ROUNDS = 10;
