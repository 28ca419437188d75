import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { buildAgents } from "./build-agents.mjs";
import { buildPage } from "./build-page.mjs";
import { bundle, bundleSplit } from "./bundle.mjs";
import { root, run } from "./run.mjs";

// The library is plain tsc output, so that a stack trace names our files; the command line is a bundle, so that
// the package needs no runtime dependency, in one part for each command, so that none waits for the others.
rmSync(`${root}dist`, { recursive: true, force: true });
run("tsc", ["-p", "tsconfig.build.json"]);

// pi's extension is beside it: it has much of it.
await bundleSplit({ cli: "src/cli/main.ts", "pi-extension": "src/hosts/pi/extension.ts" });
chmodSync(`${root}dist/cli.js`, 0o755);
// pi compiles the file that it is told of at every start, and what that imports: this one has Node load the extension.
writeFileSync(
  `${root}dist/pi.js`,
  'import { createRequire } from "node:module";\n\nexport default createRequire(import.meta.url)("./pi-extension.js").extendPi;\n',
);

// OpenCode loads the plugin where no package of ours is installed: each of its two parts is one file as well.
const parts = {
  // Version 1 calls the first of each, version 2 the second.
  server: {
    server: "(input: unknown, options?: unknown) => Promise<Record<string, unknown>>",
    setup: "(context: unknown) => Promise<(() => Promise<void>) | undefined>",
  },
  tui: {
    tui: "(api: unknown) => Promise<void>",
    setup: "(context: unknown) => Promise<() => void>",
  },
};
for (const [part, calls] of Object.entries(parts)) {
  await bundle(`src/${part}.ts`, `dist/${part}.js`);
  const members = Object.entries(calls).map(([name, type]) => ` readonly ${name}: ${type};`);
  writeFileSync(
    `${root}dist/${part}.d.ts`,
    `declare const plugin: { readonly id: string;${members.join("")} };\nexport default plugin;\n`,
  );
}

// The plugin folder of agents that run hooks: what is loaded at every moment, and what only where there is something to do.
await buildAgents();

// What `carryover inspect` shows in a browser.
await buildPage();
