import { rolldown } from "rolldown";
import { root } from "./run.mjs";

/** All but the database driver, which is the user's own, and what OpenCode lends to its terminal's plugins: both are looked for only when they are needed. */
const SETTINGS = {
  platform: "node",
  // jsonc-parser's CommonJS build requires files by paths that a bundler does not see.
  resolve: { mainFields: ["module", "main"] },
  external: ["pg", "solid-js", "@opentui/solid"],
  logLevel: "warn",
};

/** The names of functions stay, so that a stack trace says what happened; the rest would be half of the package. */
const MINIFY = { compress: true, mangle: { toplevel: false }, codegen: true };

/** Writes one file with everything that `input` needs. */
export async function bundle(input, file) {
  const made = await rolldown({ ...SETTINGS, input: `${root}${input}` });
  // Where OpenCode lends packages the layout stays: in its terminal the part without it was not shown.
  const minify = file === "dist/tui.js" ? false : MINIFY;
  await made.write({ file: `${root}${file}`, format: "esm", codeSplitting: false, minify });
  await made.close();
}

/** Writes a file for each input by its name; what they share or load on demand lies in `dist/cli`. */
export async function bundleSplit(inputs) {
  const input = Object.fromEntries(Object.entries(inputs).map(([name, file]) => [name, `${root}${file}`]));
  const made = await rolldown({ ...SETTINGS, input });
  await made.write({
    dir: `${root}dist`,
    entryFileNames: "[name].js",
    chunkFileNames: "cli/[name].js",
    format: "esm",
    minify: MINIFY,
  });
  await made.close();
}
