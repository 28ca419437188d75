import { createNames, digest, type Names } from "./identifiers.ts";
import type { Random } from "./random.ts";
import { sentence } from "./sample-prose.ts";
import { BASE64, capitalized, DIGITS, draw, HEX, repeat, type Sampler } from "./sampler.ts";

/** JSON documents: records, manifests and lock files, indented or on one line. */
export const json: Sampler = (random, lexicon) => {
  const code = createNames(random, lexicon);
  const text = (): string =>
    random.chance(30) ? sentence(random, lexicon) : code.words(1 + random.below(5));
  const document = random.pick([
    () => record({ random, code, text }, 3),
    () => record({ random, code, text }, 2),
    () => ({ items: Array.from({ length: 3 }, () => record({ random, code, text }, 1)) }),
    () => manifest(random, code),
    () => lockEntries(random, code),
  ])();
  const indent = random.pick([0, 2, 2, 2, 4, "\t"]);
  return `${JSON.stringify(document, null, indent)}\n`;
};

interface Source {
  readonly random: Random;
  readonly code: Names;
  readonly text: () => string;
}

function record(source: Source, depth: number): Record<string, unknown> {
  const { random, code } = source;
  const key = random.pick([code.camel, code.snake, code.kebab, code.word]);
  return Object.fromEntries(
    Array.from({ length: 3 + random.below(5) }, () => [key(), jsonValue(source, depth)]),
  );
}

function jsonValue(source: Source, depth: number): unknown {
  const { random, code, text } = source;
  if (depth > 0 && random.chance(30)) return record(source, depth - 1);
  return random.pick([
    text,
    text,
    code.camel,
    code.kebab,
    code.path,
    code.url,
    code.uuid,
    code.isoTime,
    code.version,
    () => Number(code.number()),
    () => random.below(2_000_000_000),
    () => 1_700_000_000_000 + random.below(2_000_000_000),
    () => random.chance(50),
    () => null,
    () => [],
    () => Array.from({ length: 1 + random.below(4) }, () => code.kebab()),
    () => Array.from({ length: 1 + random.below(6) }, () => random.below(300)),
    () => `const ${code.camel()} = "${code.word()}";\n  return ${code.camel()}(\n`,
    () => digest(random),
  ])();
}

function manifest(random: Random, code: Names): Record<string, unknown> {
  const dependencies = (): Record<string, string> =>
    Object.fromEntries(
      Array.from({ length: 4 + random.below(6) }, () => [code.packageName(), `^${code.version()}`]),
    );
  return {
    name: code.packageName(),
    version: code.version(),
    description: code.words(8),
    main: `./${code.path()}`,
    scripts: { build: `${code.word()} --${code.kebab()} ${code.word()}`, test: `${code.word()} run` },
    repository: { type: "git", url: `git+https://github.com/${code.word()}/${code.kebab()}.git` },
    keywords: Array.from({ length: 5 }, () => code.word()),
    license: "MIT",
    dependencies: dependencies(),
    devDependencies: dependencies(),
  };
}

function lockEntries(random: Random, code: Names): Record<string, unknown> {
  const entry = (): [string, unknown] => {
    const name = code.packageName();
    const version = code.version();
    return [
      `node_modules/${name}`,
      {
        version,
        resolved: `https://registry.${code.word()}.org/${name}/-/${name}-${version}.tgz`,
        integrity: `sha512-${draw(random, BASE64, 86)}==`,
        dev: true,
        license: random.pick(["MIT", "ISC", "Apache-2.0", "BSD-3-Clause"]),
        ...(random.chance(50) && { dependencies: { [code.packageName()]: `^${code.version()}` } }),
        ...(random.chance(40) && { engines: { node: `>=${random.below(20)}` } }),
      },
    ];
  };
  return Object.fromEntries(Array.from({ length: 3 }, entry));
}

/** Base64 with and without line ends, and its URL form. */
export const base64: Sampler = (random) => {
  const text = draw(random, BASE64, 1200);
  return random.pick([
    text,
    text,
    text.replace(/(.{76})/g, "$1\n"),
    text.replaceAll("+", "-").replaceAll("/", "_"),
  ]);
};

/** Base64 of text, whose letters are less even than those of compressed bytes. */
export const base64OfText: Sampler = (random, lexicon) => {
  const plain = createNames(random, lexicon).words(120);
  return Array.from({ length: Math.floor(plain.length / 3) }, (_, index) =>
    encodeThree(plain, index * 3),
  ).join("");
};

function encodeThree(text: string, at: number): string {
  const bits =
    ((text.charCodeAt(at) & 255) << 16) |
    ((text.charCodeAt(at + 1) & 255) << 8) |
    (text.charCodeAt(at + 2) & 255);
  return [18, 12, 6, 0].map((shift) => BASE64.charAt((bits >> shift) & 63)).join("");
}

/** Hexadecimal text: digests, dumps and UUIDs. */
export const hex: Sampler = (random, lexicon) => {
  const { uuid } = createNames(random, lexicon);
  return random.pick([
    () => draw(random, HEX, 800),
    () => draw(random, HEX, 800).toUpperCase(),
    () => repeat(12, () => `${draw(random, HEX, 64)}\n`),
    () => repeat(20, () => `${uuid()}\n`),
    () => repeat(20, () => `${uuid()}\n`),
    () => JSON.stringify(Array.from({ length: 16 }, uuid)),
    () => repeat(12, () => `${draw(random, HEX, 8)}  ${repeat(16, () => draw(random, HEX, 2), " ")}\n`),
    () => repeat(20, () => `0x${draw(random, HEX, 8)}, `),
  ])();
};

/** Log lines as servers, systems and build tools write them. */
export const logs: Sampler = (random, lexicon) => {
  const code = createNames(random, lexicon);
  const line = random.pick(LOG_LINES);
  return repeat(8, () => `${line({ random, code, text: () => code.words(3 + random.below(7)) })}\n`);
};

const LOG_LINES: readonly ((source: Source) => string)[] = [
  ({ random, code, text }) =>
    `${code.isoTime()} ${level(random)} [${code.kebab()}] ${text()} ${code.camel()}=${code.number()} duration=${random.below(5000)}ms`,
  ({ random, code, text }) =>
    `${spaceTime(random)} ${level(random)} ${javaClass(random, code)}: ${text()} ${code.number()}`,
  ({ random, code, text }) =>
    `${month(random)} ${1 + random.below(28)} ${clock(random)} ${code.word()}-${random.below(9)} ${code.word()}[${random.below(32000)}]: ${text()} from ${address(random)} port ${random.below(65000)}`,
  ({ random, code }) =>
    `${address(random)} - - [${two2(random)}/${month(random)}/2025:${clock(random)} +0000] "${random.pick(["GET", "POST", "PUT"])} /${code.word()}/${code.kebab()}?${code.word()}=${random.below(999)} HTTP/1.1" ${random.pick([200, 200, 304, 404, 500])} ${random.below(90000)} "-" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"`,
  ({ random, code, text }) =>
    JSON.stringify({
      level: level(random).toLowerCase(),
      time: 1_700_000_000_000 + random.below(1e9),
      pid: random.below(30000),
      hostname: code.word(),
      reqId: code.uuid(),
      msg: text(),
    }),
  ({ random, code, text }) =>
    `[${month(random)} ${two2(random)} ${clock(random)} 2025] [${level(random).toLowerCase()}] ${code.camel()}() ${text()} /etc/${code.path()}`,
  ({ random, code }) =>
    `    at ${code.pascal()}.${code.camel()} (${code.path()}:${random.below(900)}:${random.below(80)})`,
  ({ random, code, text }) =>
    `${two2(random)}-${two2(random)} ${clock(random)}.${draw(random, DIGITS, 3)}  ${random.below(9000)}  ${random.below(9000)} ${random.pick(["D", "I", "V", "W"])} ${code.pascal()}: ${text()}`,
  ({ random, code, text }) =>
    `- 11${draw(random, DIGITS, 8)} 2025.${two2(random)}.${two2(random)} R${two2(random)}-M${random.below(2)}-N${random.below(9)}-C:J${two2(random)}-U${two2(random)} ${code.constant()} ${level(random)} ${text()}`,
  ({ random, code, text }) =>
    `${draw(random, DIGITS, 6)} ${clock(random).replaceAll(":", "")} ${random.below(99)} ${level(random)} dfs.${code.pascal()}: ${text()} blk_-${draw(random, DIGITS, 19)} src: /${address(random)}:${random.below(60000)}`,
  ({ random, code, text }) =>
    ` ${random.pick(["✓", "×", "❯", "→"])} ${code.path()} (${random.below(40)} tests) ${random.below(900)}ms ${text()}`,
  ({ random, code, text }) =>
    `npm ${random.pick(["warn", "error"])} ${code.kebab()} ${code.packageName()}@${code.version()}: ${text()}`,
  ({ random, code, text }) =>
    `${code.path()}:${random.below(900)}:${random.below(80)}: ${random.pick(["error", "warning"])}: ${text()} '${code.camel()}' [-W${code.kebab()}]`,
  ({ random, code, text }) =>
    `commit ${draw(random, HEX, 40)}\nAuthor: ${capitalized(code.word())} <${code.word()}@${code.word()}.com>\n\n    ${random.pick(["fix", "feat", "chore"])}(${code.word()}): ${text()}\n`,
  ({ random, code, text }) =>
    `nova-${code.word()}.log ${spaceTime(random)} ${random.below(9999)} ${level(random)} ${code.word()}.${code.snake()} [req-${code.uuid()} ${draw(random, HEX, 32)}] ${text()}`,
  ({ random, code, text }) =>
    `${spaceTime(random).slice(0, 19)}, ${capitalized(level(random).toLowerCase())}                  ${code.constant().slice(0, 4)}    ${draw(random, HEX, 8)} ${capitalized(text())}. [HRESULT = 0x${draw(random, HEX, 8)}]`,
  ({ random, code, text }) =>
    `\u001b[${30 + random.below(8)}m${level(random)}\u001b[0m ${text()} \u001b[1m${code.camel()}\u001b[22m ${code.number()}%`,
];

function level(random: Random): string {
  return random.pick(["INFO", "INFO", "INFO", "WARN", "ERROR", "DEBUG"]);
}

function clock(random: Random): string {
  return `${two2(random)}:${two2(random)}:${two2(random)}`;
}

function spaceTime(random: Random): string {
  return `2025-${two2(random)}-${two2(random)} ${clock(random)},${draw(random, DIGITS, 3)}`;
}

function month(random: Random): string {
  return random.pick(["Jan", "Feb", "Mar", "Jun", "Jul", "Aug", "Oct", "Dec"]);
}

function address(random: Random): string {
  return repeat(4, () => `${random.below(256)}`, ".");
}

function two2(random: Random): string {
  return `${random.below(3)}${random.below(10)}`;
}

function javaClass(random: Random, code: Names): string {
  return `${random.pick(["org", "com", "io"])}.${code.word()}.${code.word()}.${code.pascal()}`;
}
