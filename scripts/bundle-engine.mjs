import { rolldown } from "rolldown";
import { root } from "./run.mjs";

// The whole engine as one minified file: what its size is measured on.
const bundle = await rolldown({ input: `${root}dist/index.js`, platform: "neutral", logLevel: "warn" });
await bundle.write({ file: `${root}reports/engine.js`, format: "esm", minify: true });
