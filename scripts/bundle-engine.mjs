import { rolldown } from "rolldown";
import { root } from "./run.mjs";

// Bundles for the size report, minified: what most people import, and the fork with a single format. The names do not
// depend on entries. `runtimes` is what other runtimes run.
const entries = {
  engine:
    'export { trimToolOutput, classifyProviderError, createSession, forkContext, redactSecrets } from "./dist/index.js";',
  fork: 'export { buildForkPreamble, formatMessagesAsContext, processMessagesForFork } from "./dist/documented.js"; export { opencode } from "./dist/formats.js";',
  runtimes: 'export * from "./dist/index.js"; export * from "./dist/documented.js";',
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
  await bundle.write({ file: `${root}reports/${name}.js`, format: "esm", minify: true, comments: false });
}
