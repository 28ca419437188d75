import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";
import { constants, Script } from "node:vm";
import { INSTRUMENTER_CONSTANTS } from "@stryker-mutator/api/core";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";
import { rolldown } from "rolldown";
import { isInSample } from "./sample.mjs";
import { createSmallVitest } from "./small-vitest.mjs";

// Vitest needs a second to start for each mutant, and there are thousands: here the tests are bundled once, and for
// each mutant the files that reach it are evaluated anew in one process, which takes milliseconds.
class BundleTestRunner {
  #namespace = {};
  #files = [];
  #load;
  #dryRun;
  #active = new ActiveMutant();

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE] = this.#namespace;
    this.#files = testFiles();
  }

  async dryRun() {
    const load = await bundleTests(this.#files, (code) => code);
    const tests = await load(this.#files);
    const results = [];
    for (const test of tests) {
      this.#namespace.currentTestId = test.id;
      results.push(await runTest(test));
      this.#namespace.currentTestId = undefined;
    }
    const { mutantCoverage } = this.#namespace;
    const spentMs = Object.fromEntries(results.map(({ id, timeSpentMs }) => [id, timeSpentMs]));
    writeFileSync(DRY_RUN_FILE, JSON.stringify({ spentMs, hits: mutantCoverage?.perTest ?? {} }));
    return { status: "complete", tests: results, mutantCoverage };
  }

  async mutantRun({ activeMutant: { id: mutantId }, mutantActivation, testFilter }) {
    if (!isInSample(mutantId, SAMPLE)) return { status: "error", errorMessage: "not in the sample" };
    // One process did the dry run; the others read its result.
    this.#dryRun ??= JSON.parse(readFileSync(DRY_RUN_FILE, "utf8"));
    this.#load ??= await bundleTests(this.#files, askActive);
    const { spentMs, hits } = this.#dryRun;
    const wanted = new Set(testFilter ?? Object.keys(spentMs));
    const files = new Set([...wanted].map((id) => id.split("#", 1)[0]));
    this.#active.begin(mutantActivation === "static" ? Number(mutantId) : NONE, Number.POSITIVE_INFINITY);
    const loaded = await this.#load(
      this.#files.filter((file) => files.has(file)),
      this.#active,
    );
    const tests = loaded.filter(({ id }) => wanted.has(id));
    tests.sort((one, other) => (spentMs[one.id] ?? 0) - (spentMs[other.id] ?? 0));
    for (const [index, test] of tests.entries()) {
      const hitLimit = 1_000 + 10 * (hits[test.id]?.[mutantId] ?? 0);
      this.#active.begin(Number(mutantId), hitLimit);
      const { status, failureMessage } = await settled(
        runTest(test),
        MAX_WAIT_MS + 20 * (spentMs[test.id] ?? 0),
      );
      if (this.#active.hits > hitLimit) return { status: "timeout", reason: "endless loop" };
      if (status === undefined) return { status: "timeout", reason: "waits for what never comes" };
      if (status === FAILED)
        return { status: "killed", killedBy: [test.id], failureMessage, nrOfTests: index + 1 };
    }
    return { status: "survived", nrOfTests: tests.length };
  }
}

/** The value of a promise, or undefined when it does not settle in time. */
async function settled(promise, maxMs) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, maxMs, {});
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long a test may wait, besides a multiple of what it took in the dry run. */
const MAX_WAIT_MS = 5_000;

/** An id that no mutant has. */
const NONE = -1;

/** Answers whether a mutant is active, which the mutated code asks at every mutated place. */
class ActiveMutant {
  id = NONE;
  hits = 0;
  #hitLimit = 0;

  begin(id, hitLimit) {
    Object.assign(this, { id, hits: 0 });
    this.#hitLimit = hitLimit;
  }

  hit() {
    this.hits += 1;
    if (this.hits > this.#hitLimit) throw new Error("endless loop");
    return true;
  }
}

// Stryker's own question compares texts through two functions, and it counts which test reaches which mutant, which
// only the dry run needs: with this the tests take a tenth of the time.
const askActive = (code) =>
  code
    .replaceAll(/\bstryCov_9fa48\((?:"\d+",? ?)+\)/g, "0")
    .replaceAll(/\bstryMutAct_9fa48\("(\d+)"\)/g, "(activeMutant.id === $1 && activeMutant.hit())");

/** One mutant in this many is tried; the others count as errors and are ignored. */
const SAMPLE = Number(process.env.CARRYOVER_MUTATE_SAMPLE ?? 1);

/** Stored in Stryker's copy of the project. */
const DRY_RUN_FILE = "dry-run.json";

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

/** Sets the fixed seed for property tests, without which runs cannot be compared. */
const SETUP = "test/rig/setup.ts";

// The hostile texts lie outside the project, where the copy that Stryker makes does not reach; a hook among the hooks that
// fail ends the process. The other two play a session so often that each mutant would take minutes.
const LEFT_OUT = /\/(hostile-text|compact-hook-faults|same-state|usage-conformance)\.test\.ts$/;

function testFiles() {
  const folders = (process.env.CARRYOVER_MUTATE_TESTS ?? "src").split(",");
  const paths = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((name) => `${folder}/${name}`),
  );
  return [...new Set(paths)].filter((path) => path.endsWith(".test.ts") && !LEFT_OUT.test(path)).sort();
}

async function bundleTests(files, rewrite) {
  const root = process.cwd();
  const loaders = [SETUP, ...files].map((file) => `${JSON.stringify(file)}: () => import("${root}/${file}")`);
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
        transform: (code, id) =>
          rewrite(code)
            .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href))
            .replaceAll("import.meta.dirname", JSON.stringify(dirname(id))),
      },
    ],
  });
  const { output } = await bundle.generate({ format: "cjs", codeSplitting: false });
  const [chunk] = output;
  const filename = `${root}/tests.cjs`;
  const evaluate = new Script(`(function (require, exports, activeMutant) {${chunk.code}\n})`, {
    filename,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }).runInThisContext();
  const packages = await loadPackages(chunk.imports);
  const nodeRequire = createRequire(filename);
  return async (wanted, activeMutant) => {
    const vitest = createSmallVitest();
    const exports = {};
    evaluate(
      (id) => (id === "vitest" ? vitest.exports : (packages.get(id) ?? nodeRequire(id))),
      exports,
      activeMutant,
    );
    for (const file of [SETUP, ...wanted]) {
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
