import { rolldown } from "rolldown";
import { root } from "./run.mjs";

/**
 * Everything except the database driver, which the user installs, and packages that OpenCode provides to terminal
 * plugins. Both are resolved when needed.
 */
const SETTINGS = {
  platform: "node",
  // jsonc-parser's CommonJS build requires files by paths that a bundler does not see.
  resolve: { mainFields: ["module", "main"] },
  external: ["pg", "solid-js", "@opentui/solid"],
  logLevel: "warn",
};

/** Function names stay, for stack traces; everything else is minified, which halves the package. */
const MINIFY = { compress: true, mangle: { toplevel: false }, codegen: true };

/** Writes one file with everything that `input` needs. */
export async function bundle(input, file) {
  const made = await rolldown({ ...SETTINGS, input: `${root}${input}` });
  // OpenCode did not show the minified terminal part, so its layout stays.
  const minify = file === "dist/tui.js" ? false : MINIFY;
  await made.write({ file: `${root}${file}`, format: "esm", codeSplitting: false, minify });
  await made.close();
}

/** Writes one file per input; shared and lazily loaded code goes to `dist/cli`. */
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
