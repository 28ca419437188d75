import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";
import { constants, Script } from "node:vm";
import { INSTRUMENTER_CONSTANTS } from "@stryker-mutator/api/core";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";
import { rolldown } from "rolldown";
import { createSmallVitest } from "./small-vitest.mjs";

// Vitest needs a second to start for each mutant, and there are thousands: here the tests are bundled once, and for
// each mutant the files that reach it are evaluated anew in one process, which takes milliseconds.
class BundleTestRunner {
  #namespace = {};
  #files = [];
  #load;
  #dryRunMs = new Map();

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE] = this.#namespace;
    this.#files = testFiles();
    this.#load = await bundleTests(this.#files);
  }

  async dryRun() {
    const tests = await this.#load(this.#files);
    const results = [];
    for (const test of tests) {
      this.#namespace.currentTestId = test.id;
      const result = await runTest(test);
      this.#namespace.currentTestId = undefined;
      this.#dryRunMs.set(test.id, result.timeSpentMs);
      results.push(result);
    }
    return { status: "complete", tests: results, mutantCoverage: this.#namespace.mutantCoverage };
  }

  async mutantRun({ activeMutant, mutantActivation, testFilter, hitLimit }) {
    // Stryker allows a mutant to be reached a hundred times as often as before, which can take minutes.
    const mostHits = hitLimit === undefined ? undefined : hitLimit / 10;
    Object.assign(this.#namespace, { activeMutant: undefined, hitCount: 0, hitLimit: mostHits });
    if (mutantActivation === "static") this.#namespace.activeMutant = activeMutant.id;
    const wanted = new Set(testFilter ?? this.#dryRunMs.keys());
    const files = new Set([...wanted].map((id) => id.split("#", 1)[0]));
    const loaded = await this.#load(this.#files.filter((file) => files.has(file)));
    const tests = loaded.filter(({ id }) => wanted.has(id));
    tests.sort((one, other) => this.#msOf(one) - this.#msOf(other));
    this.#namespace.activeMutant = activeMutant.id;
    let nrOfTests = 0;
    for (const test of tests) {
      nrOfTests += 1;
      const { status, failureMessage } = await runTest(test);
      if (this.#namespace.hitCount > mostHits) return { status: "timeout", reason: "endless loop" };
      if (status === FAILED) return { status: "killed", killedBy: [test.id], failureMessage, nrOfTests };
    }
    return { status: "survived", nrOfTests };
  }

  #msOf({ id }) {
    return this.#dryRunMs.get(id) ?? 0;
  }
}

// Stryker's `TestStatus`, which its package does not export to JavaScript as a name.
const SUCCESS = 0;
const FAILED = 1;

async function runTest({ id, file, body }) {
  const startMs = performance.now();
  const result = (rest) => ({
    id,
    name: id,
    fileName: file,
    timeSpentMs: performance.now() - startMs,
    ...rest,
  });
  try {
    await body();
    return result({ status: SUCCESS });
  } catch (error) {
    return result({ status: FAILED, failureMessage: String(error) });
  }
}

// The hostile texts lie outside the project, where the copy that Stryker makes does not reach.
function testFiles() {
  return (process.env.CARRYOVER_MUTATE_TESTS ?? "src")
    .split(",")
    .flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => `${folder}/${name}`))
    .filter((path) => path.endsWith(".test.ts") && !path.endsWith("/hostile-text.test.ts"))
    .sort();
}

async function bundleTests(files) {
  const root = process.cwd();
  const loaders = files.map((file) => `${JSON.stringify(file)}: () => import("${root}/${file}")`);
  const bundle = await rolldown({
    input: ENTRY,
    platform: "node",
    external: (id) => id !== ENTRY && !/^[./]/.test(id),
    logLevel: "silent",
    treeshake: false,
    plugins: [
      {
        name: "tests",
        resolveId: (id) => (id === ENTRY ? id : undefined),
        load: (id) => (id === ENTRY ? `export const loaders = { ${loaders.join(", ")} };` : undefined),
        transform: (code, id) => code.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href)),
      },
    ],
  });
  const { output } = await bundle.generate({ format: "cjs", codeSplitting: false });
  const [chunk] = output;
  const filename = `${root}/tests.cjs`;
  const evaluate = new Script(`(function (require, exports) {${chunk.code}\n})`, {
    filename,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }).runInThisContext();
  const packages = await loadPackages(chunk.imports);
  const nodeRequire = createRequire(filename);
  return async (wanted) => {
    const vitest = createSmallVitest();
    const exports = {};
    evaluate((id) => (id === "vitest" ? vitest.exports : (packages.get(id) ?? nodeRequire(id))), exports);
    for (const file of wanted) {
      vitest.enter(file);
      await exports.loaders[file]();
    }
    return vitest.tests;
  };
}

const ENTRY = "tests:";

async function loadPackages(ids) {
  const packages = new Map();
  for (const id of ids) {
    if (id !== "vitest") packages.set(id, await import(id));
  }
  return packages;
}

/** Found by Stryker: the test runner `bundle`. */
export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, "bundle", BundleTestRunner)];
