import { rolldown } from "rolldown";
import { root } from "./run.mjs";

// What the size is measured on, minified: the whole engine, and what a bundler takes of it for the fork alone.
const entries = {
  engine: 'export * from "./dist/index.js";',
  fork: 'export { buildForkPreamble, formatMessagesAsContext, processMessagesForFork } from "./dist/index.js"; export { opencode } from "./dist/opencode.js";',
};
for (const [name, code] of Object.entries(entries)) {
  const bundle = await rolldown({
    input: "entry",
    cwd: root,
    platform: "neutral",
    logLevel: "warn",
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === "entry" ? `${root}entry.js` : undefined),
        load: (id) => (id === `${root}entry.js` ? code : undefined),
      },
    ],
  });
  await bundle.write({ file: `${root}reports/${name}.js`, format: "esm", minify: true });
}
