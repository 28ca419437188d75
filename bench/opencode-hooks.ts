import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { startModelServer } from "../test/rig/model-server/model-server.ts";
import { call, say } from "../test/rig/model-server/step.ts";
import { installOpenCode } from "../test/rig/opencode/install-opencode.ts";
import { importSessions } from "../test/rig/opencode/recording.ts";
import { createSandbox } from "../test/rig/opencode/sandbox.ts";
import { startOpenCode } from "../test/rig/opencode/start-opencode.ts";
import { historyOf, modelSays, resultOf, type Step, userSays } from "../test/rig/random-history/history.ts";
import { lowerToOpenCode } from "../test/rig/random-history/lower-to-opencode.ts";
import { printTable } from "./measure.ts";

/** Measures the delay of each plugin hook in a step of a 300-message session, in the real OpenCode. */
async function benchOpenCodeHooks(): Promise<void> {
  const sandbox = createSandbox();
  const model = await startModelServer();
  const log = join(sandbox.root, "hooks.jsonl");
  try {
    const plugin = await timedPlugin(sandbox.root, log);
    const binary = await installOpenCode();
    const [id = ""] = await importSessions({
      binary,
      sandbox,
      sessions: [lowerToOpenCode(historyOf(SESSION), { number: 1 })],
    });
    const opencode = await startOpenCode({ modelUrl: model.url, sandbox, config: { plugin: [plugin] } });
    for (const [name, steps] of [
      ["warm up", 10],
      ["measured", 30],
    ] as const) {
      writeFileSync(log, "");
      model.script([
        ...Array.from({ length: steps }, (_, step) =>
          call("bash", { command: `echo ${step}`, description: "Count" }, { usage: FEW }),
        ),
        say("Done.", { usage: FEW }),
      ]);
      await opencode.prompt(id, { text: `Count, ${name}.` });
    }
    const times = model.requests.slice(-30).map(({ atMs }) => atMs);
    report(readTimes(log), {
      steps: 31,
      stepMs: median(times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0))),
    });
    await opencode.kill();
  } finally {
    await model.stop();
    sandbox.remove();
  }
}

const FEW = { inputTokens: 1_000, outputTokens: 10 };

const SESSION: readonly Step[] = Array.from({ length: 100 }, (_, turn) => {
  const call = { id: `call_${turn}`, tool: "bash", input: { command: `cat ${turn}` } };
  return [
    userSays(`Question ${turn}.`),
    modelSays(undefined, [call]),
    resultOf(call, "grey ".repeat(400)),
    modelSays(`Answer ${turn}.`),
  ];
}).flat();

/** Bundles the plugin into one file, with a timer around every hook. */
async function timedPlugin(folder: string, log: string): Promise<string> {
  const ours = join(folder, "carryover.mjs");
  const bundle = await rolldown({ input: resolve("src/server.ts"), platform: "node", logLevel: "warn" });
  await bundle.write({ file: ours, format: "esm", codeSplitting: false });
  await bundle.close();
  const timed = join(folder, "timed.mjs");
  writeFileSync(
    timed,
    `import { appendFileSync } from "node:fs";
import plugin from ${JSON.stringify(pathToFileURL(ours).href)};
export default { id: "timed", server: async (input) => {
  const hooks = await plugin.server(input, {});
  for (const [name, hook] of Object.entries(hooks)) {
    if (typeof hook !== "function") continue;
    hooks[name] = async (...args) => {
      const start = performance.now();
      try { return await hook(...args); }
      finally { appendFileSync(${JSON.stringify(log)}, JSON.stringify([name, performance.now() - start]) + "\\n"); }
    };
  }
  return hooks;
} };`,
  );
  return pathToFileURL(timed).href;
}

function readTimes(log: string): ReadonlyMap<string, readonly number[]> {
  const times = new Map<string, number[]>();
  for (const line of readFileSync(log, "utf8").trim().split("\n")) {
    const [name, ms] = JSON.parse(line) as [string, number];
    times.set(name, [...(times.get(name) ?? []), ms]);
  }
  return times;
}

function report(
  times: ReadonlyMap<string, readonly number[]>,
  { steps, stepMs }: { steps: number; stepMs: number },
): void {
  const rows = [...times].map(([name, all]) => {
    const perStepMs = all.reduce((sum, ms) => sum + ms, 0) / steps;
    return { name, calls: all.length / steps, medianMs: median(all), perStepMs };
  });
  // Events do not delay the step.
  const heldUpMs = rows.filter(({ name }) => name !== "event").reduce((sum, row) => sum + row.perStepMs, 0);
  printTable(`Hooks in a step of a session of 300 messages (a step takes ${stepMs.toFixed(0)} ms)`, [
    ["hook", "calls a step", "median ms", "ms a step", "share of the step"],
    ...rows
      .toSorted((a, b) => b.perStepMs - a.perStepMs)
      .map((row) => [
        row.name,
        row.calls.toFixed(1),
        row.medianMs.toFixed(3),
        row.perStepMs.toFixed(3),
        share(row.perStepMs, stepMs),
      ]),
    ["all but events", "", "", heldUpMs.toFixed(3), share(heldUpMs, stepMs)],
  ]);
}

function share(ms: number, stepMs: number): string {
  return `${((100 * ms) / stepMs).toFixed(2)} %`;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

await benchOpenCodeHooks();
