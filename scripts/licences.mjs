import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { rolldown } from "rolldown";
import { root } from "./run.mjs";

// Lists the packages in bundled files and their licenses; `--check` says whether the lists are current.
const BUNDLES = {
  "dist/cli.js": "src/cli/main.ts",
  "dist/server.js": "src/server.ts",
  "dist/tui.js": "src/tui.ts",
  "dist/inspector/app.js": "src/inspector/page/main.tsx",
};
const TEXTS = `${root}THIRD-PARTY-LICENSES.txt`;
const TABLE = `${root}docs/licences.md`;

const bundledIn = new Map();
for (const [file, input] of Object.entries(BUNDLES)) {
  for (const name of await packagesIn(input)) bundledIn.set(name, [...(bundledIn.get(name) ?? []), file]);
}
const packages = [...bundledIn].sort(([left], [right]) => (left < right ? -1 : 1)).map(describe);
const current = { [TEXTS]: textsOf(packages), [TABLE]: tableOf(packages) };

if (process.argv.includes("--check")) {
  const old = Object.keys(current).filter((file) => read(file) !== current[file]);
  if (old.length > 0) {
    console.error(
      `${old.map((file) => basename(file)).join(" and ")} must be made again: node scripts/licences.mjs`,
    );
    process.exit(1);
  }
} else {
  for (const [file, text] of Object.entries(current)) writeFileSync(file, text);
  console.log(packages.map(({ name, version, license }) => `${name} ${version} ${license}`).join("\n"));
}

/** The names of the packages whose code a bundle holds. */
async function packagesIn(input) {
  const bundle = await rolldown({
    input: `${root}${input}`,
    platform: "node",
    // jsonc-parser's CommonJS build requires files by paths that a bundler does not see.
    resolve: { mainFields: ["module", "main"] },
    external: ["pg", /\.css$/],
    transform: { jsx: { runtime: "automatic", importSource: "preact" } },
    logLevel: "silent",
  });
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
  await bundle.close();
  const modules = output.flatMap((file) => (file.type === "chunk" ? Object.entries(file.modules) : []));
  const used = modules.filter(([, { renderedLength = 1 }]) => renderedLength > 0);
  return new Set(used.flatMap(([id]) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? []));
}

function describe([name, files]) {
  const folder = `${root}node_modules/${name}/`;
  const { version, license } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
  return { name, version, license, files, text: licenceText(folder) };
}

function licenceText(folder) {
  const text = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license"]
    .map((name) => read(`${folder}${name}`))
    .find(Boolean);
  if (text === undefined) throw new Error(`${folder} has no licence text: it cannot be shipped`);
  return text.replaceAll("\r\n", "\n").trim();
}

function textsOf(all) {
  const blocks = all.map(
    ({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`,
  );
  return `Carryover contains code of these packages, each under its own terms.\n\n${blocks.join(`\n${"-".repeat(72)}\n\n`)}`;
}

function tableOf(all) {
  const rows = all.map(
    ({ name, version, license, files }) =>
      `| ${name} | ${version} | ${license} | ${files.map((file) => `\`${file}\``).join(", ")} |`,
  );
  return `# Licences

Carryover is under the MIT licence. The library (every entry but those below) contains no code of others. These files are bundles, so that they run where nothing else is installed, and contain:

| package | version | licence | in |
|---|---|---|---|
${rows.join("\n")}

The full texts are in \`THIRD-PARTY-LICENSES.txt\`, which is part of the package. Both lists are made by \`node scripts/licences.mjs\` out of what the bundler really takes, and a test holds them current. \`pg\` and \`ai\` are optional peers that a user installs: their code is not in the package.
`;
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
