import { mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { rolldown } from "rolldown";
import { whyToBuild } from "./fresh-build.ts";

const root = resolve(import.meta.dirname, "../..");

/** The command line of the package where it was built from these sources, else a bundle. Test files that run at once take a name each. */
export async function buildCli(name = "cli"): Promise<string> {
  if (whyToBuild(root) === undefined) return resolve(root, "dist/cli.js");
  return bundleCli(resolve(root, `.rig/${name}.js`));
}

/** Bundles the plugin's server half in the same way. */
export function buildServer(name: string): Promise<string> {
  return bundleTo(resolve(root, `.rig/${name}-server.mjs`), "src/server.ts");
}

/** The command line into a file of one's own. */
export function bundleCli(file: string): Promise<string> {
  return bundleTo(file, "src/cli/main.ts");
}

async function bundleTo(file: string, input: string): Promise<string> {
  mkdirSync(dirname(file), { recursive: true });
  const bundle = await rolldown({
    input: resolve(root, input),
    platform: "node",
    // jsonc-parser's CommonJS build requires files by paths that a bundler does not see.
    resolve: { mainFields: ["module", "main"] },
    external: ["pg"],
    logLevel: "warn",
  });
  await bundle.write({ file, format: "esm", codeSplitting: false });
  await bundle.close();
  return file;
}
