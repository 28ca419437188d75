import { readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { cleanOutputs } from "../../src/stores/files/clean-outputs.ts";
import { createFileOutputStore } from "../../src/stores/files/output-store.ts";
import { createLiveHandles } from "./live-handles.ts";
import { liveSession, type SoakCounts } from "./soak-life.ts";
import { OUTPUT_CAP_BYTES, type SoakSample } from "./soak-protocol.ts";

// Lives one session after another until its time is over, and says after each what it holds.
const [root = "", label = "", spanText = "0"] = process.argv.slice(2);
const untilMs = Date.now() + Number(spanText);
const counts: SoakCounts = {
  sessions: 0,
  requests: 0,
  compactions: 0,
  forks: 0,
  outputs: 0,
  recalls: 0,
  restarts: 0,
};
const faults: string[] = [];
const live = createLiveHandles(join(root, "live"), label);
const outputs = createFileOutputStore({ root: join(root, "outputs"), durable: false, cleaning: "never" });

for (let number = 1; Date.now() < untilMs; number++) {
  await liveSession({
    id: `${label}-${number}`,
    seed: number * 7 + label.charCodeAt(0),
    root,
    outputs,
    counts,
    live,
    complain: (fault) => faults.push(fault),
  });
  const cleaned = await cleanOutputs({
    root: join(root, "outputs"),
    maxBytes: OUTPUT_CAP_BYTES,
    minAgeMs: 2_000,
    live: live.ofAll,
  });
  const isLeftToOther = cleaned.status === "failed" && cleaned.code === "LOCKED";
  if (!isLeftToOther && (cleaned.status === "failed" || cleaned.problems.length > 0))
    faults.push(JSON.stringify(cleaned));
  say(cleaned.status === "failed" ? 0 : cleaned.keptBytes);
}

function say(outputBytes: number): void {
  // Twice, since the first run only finds what the second can free.
  for (let run = 0; run < 2; run++) globalThis.gc?.();
  const { heapUsed, rss, external } = process.memoryUsage();
  const sample: SoakSample = {
    atMs: Date.now(),
    heapBytes: heapUsed + external,
    residentBytes: rss,
    descriptors: openDescriptors(),
    outputBytes,
    counts: { ...counts },
    faults: faults.splice(0),
  };
  writeSync(1, `${JSON.stringify(sample)}\n`);
}

/** Only Linux tells. */
function openDescriptors(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0;
  }
}
