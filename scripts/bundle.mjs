import { rolldown } from "rolldown";
import { root } from "./run.mjs";

/** Writes one file with everything that `input` needs but the database driver, which is the user's own, and what OpenCode lends to its terminal's plugins: both are looked for only when they are needed. */
export async function bundle(input, file) {
  const made = await rolldown({
    input: `${root}${input}`,
    platform: "node",
    // jsonc-parser's CommonJS build requires files by paths that a bundler does not see.
    resolve: { mainFields: ["module", "main"] },
    external: ["pg", "solid-js", "@opentui/solid"],
    logLevel: "warn",
  });
  // Names stay, so that a stack trace says what happened; layout and comments would be half of the package. Where OpenCode
  // lends packages the layout stays too: in its terminal the part without it was not shown.
  const isLent = file === "dist/tui.js";
  const minify = isLent ? false : { compress: false, mangle: false, codegen: true };
  await made.write({ file: `${root}${file}`, format: "esm", codeSplitting: false, minify });
  await made.close();
}
