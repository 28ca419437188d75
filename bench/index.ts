import { benchAiSdk } from "./ai-sdk.bench.ts";
import { benchJournal, benchRecords } from "./file-stores.bench.ts";
import { benchFill } from "./fill.bench.ts";
import { benchFork } from "./fork.bench.ts";
import { benchHooks } from "./hooks.bench.ts";
import { benchHostile } from "./hostile.bench.ts";
import { benchJsonl } from "./jsonl.bench.ts";
import { benchLangChain } from "./langchain.bench.ts";
import { benchLargeSession } from "./large.bench.ts";
import { benchRecall } from "./recall.bench.ts";
import { benchRedact } from "./redact.bench.ts";
import { benchRestore } from "./restore.bench.ts";
import { benchScale } from "./scale.bench.ts";
import { benchSession } from "./session.bench.ts";
import { benchState } from "./state.bench.ts";
import { benchTokens } from "./tokens.bench.ts";
import { benchToolOutput } from "./tool-output.bench.ts";

const benches: Readonly<Record<string, () => Promise<void>>> = {
  fork: benchFork,
  fill: benchFill,
  tokens: benchTokens,
  redact: benchRedact,
  recall: benchRecall,
  "tool-output": benchToolOutput,
  session: benchSession,
  restore: benchRestore,
  state: benchState,
  jsonl: benchJsonl,
  large: benchLargeSession,
  scale: benchScale,
  journal: benchJournal,
  records: benchRecords,
  hostile: benchHostile,
  hooks: benchHooks,
  "ai-sdk": benchAiSdk,
  langchain: benchLangChain,
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in benches));
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(", ")}; choose from ${Object.keys(benches).join(", ")}.`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(benches)) {
  if (names.length === 0 || names.includes(name)) await bench();
}
