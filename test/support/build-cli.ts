import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { rolldown } from "rolldown";

/** Bundles the command line as the package does, and gives its path. Test files that run at once take a name each. */
export async function buildCli(name = "cli"): Promise<string> {
  const root = resolve(import.meta.dirname, "../..");
  const file = resolve(root, `.rig/${name}.js`);
  mkdirSync(resolve(root, ".rig"), { recursive: true });
  const bundle = await rolldown({
    input: resolve(root, "src/hosts/cli/main.ts"),
    platform: "node",
    external: ["pg"],
    logLevel: "warn",
  });
  await bundle.write({ file, format: "esm", codeSplitting: false });
  await bundle.close();
  return file;
}
