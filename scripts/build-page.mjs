import { mkdirSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { build } from "vite";
import { root } from "./run.mjs";

/**
 * Builds the inspector's page: one script and one stylesheet, which the server serves and the single file contains.
 * With `sourcemap: "hidden"` there is a map beside them.
 */
export async function buildPage(folder = `${root}dist/inspector`, { sourcemap = false } = {}) {
  const made = await build({
    root: `${root}src/inspector/page`,
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      write: false,
      target: "es2023",
      cssCodeSplit: false,
      modulePreload: false,
      minify: true,
      sourcemap,
      rolldownOptions: {
        input: `${root}src/inspector/page/main.tsx`,
        // A plain script and no module: it works in a file that was opened from disk as well.
        output: { format: "iife", entryFileNames: "app.js", assetFileNames: "app[extname]" },
      },
    },
  });
  const files = (Array.isArray(made) ? made : [made]).flatMap(({ output }) => output);
  const names = files.map(({ fileName }) => fileName).sort();
  if (names.filter((name) => name !== "app.js.map").join() !== "app.css,app.js")
    throw new Error(`The page became ${names.join(", ")}`);
  mkdirSync(folder, { recursive: true });
  for (const file of files) {
    const text = file.type === "chunk" ? file.code : String(file.source);
    if (!file.fileName.endsWith(".map")) check(file.fileName, text);
    writeFileSync(`${folder}/${file.fileName}`, text);
  }
}

/** What would not work under the page's content security policy, or inside one file. */
const FORBIDDEN = [
  /<\/(script|style)/i,
  /<!--/,
  /\beval\(/,
  /\bnew Function\b/,
  /\bimport\(/,
  /\burl\((?!['"]?data:)/,
  /sourceMappingURL/,
];

function check(name, text) {
  for (const pattern of FORBIDDEN) {
    const place = text.search(pattern);
    if (place >= 0) throw new Error(`${name} contains ${pattern}: …${text.slice(place - 40, place + 40)}…`);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await buildPage(process.argv[2]);
}
