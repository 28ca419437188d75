import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { createRig, type OpenRig } from "../test/opencode/harness/rig.ts";
import type { ModelRequest } from "../test/rig/model-server/model-server.ts";
import { say } from "../test/rig/model-server/step.ts";
import { createLongSession } from "../test/rig/opencode/long-session.ts";
import { sharedPrefix } from "../test/rig/opencode/shared-prefix.ts";

// Sixty calls in the real OpenCode, with and without pruning: what was sent, what a provider's cache would have held of it,
// what it costs, how often the host compacted, and how many of the functions that the user named can still be read at the
// end. npm run measure:prune:opencode [-- "prune: auto" 64k 12]

/** Dollars for a million tokens. */
interface Prices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

const MODELS: Readonly<Record<string, Prices>> = {
  "claude-sonnet-4-5": { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
  "gpt-5": { input: 1.25, output: 10, cacheRead: 0.125, cacheWrite: 1.25 },
};
const WINDOWS = {
  "64k": { context: 64_000, output: 8_000 },
  "200k": { context: 200_000, output: 32_000 },
};
type WindowName = keyof typeof WINDOWS;
const WINDOW_NAMES = Object.keys(WINDOWS) as readonly WindowName[];
const CHARS_PER_TOKEN = 4;
const SUMMARY = `## Objective\n- Go through the functions.\n${"- One more thing that was found out about the modules that were read.\n".repeat(40)}`;

const SIDES = {
  "bare host": undefined,
  "prune: when-full": {},
  "prune: auto": { prune: "auto" },
} as const;

const PAYING = "prune: auto";

const session = createLongSession();
const wanted = process.argv.slice(2);
const isWanted = (...names: readonly string[]): boolean => {
  const kinds = [Object.keys(SIDES), WINDOW_NAMES as readonly string[], Object.keys(MODELS), ["1", "12"]];
  return names.every((name, kind) => {
    const among = wanted.filter((word) => kinds[kind]?.includes(word));
    return among.length === 0 || among.includes(name);
  });
};
console.log(
  "| window | model | turns | | requests | tokens sent | largest | cached | cost | compactions | named lines at the end |",
);
console.log("|---|---|---|---|---|---|---|---|---|---|---|");
for (const [side, plugin] of Object.entries(SIDES)) {
  if (!isWanted(side)) continue;
  const rig = await createRig({ files: session.files, start: "later" });
  try {
    const spec = [pathToFileURL(resolve("dist/server.js")).href, plugin ?? {}] as const;
    await rig.restart({
      config: { provider: providersAt(rig.model.url), enabled_providers: Object.keys(WINDOWS) },
      otherPlugins: plugin === undefined ? [] : [spec],
    });
    for (const window of WINDOW_NAMES)
      for (const modelID of side === PAYING ? Object.keys(MODELS) : Object.keys(MODELS).slice(0, 1))
        for (const turns of [1, 12] as const)
          if (isWanted(side, window, modelID, String(turns)))
            await play(rig, { side, window, modelID, turns });
  } finally {
    await rig.stop();
  }
}

interface Play {
  readonly side: string;
  readonly window: WindowName;
  readonly modelID: string;
  readonly turns: 1 | 12;
}

async function play(rig: OpenRig, { side, window, modelID, turns }: Play): Promise<void> {
  const id = await rig.newSession();
  rig.model.script([{ ...say(SUMMARY), lane: "summary", sessionId: id, times: "always" }]);
  for (const { prompt, steps } of session.turns(turns))
    await rig.turn(id, { text: prompt, model: { providerID: window, modelID } }, steps);
  rig.model.discardSteps();
  const requests = rig.requests({ sessionId: id, lane: "any" }).filter(({ lane }) => lane !== "title");
  const last = JSON.stringify(requests.at(-1)?.body);
  const named = session.named.filter(({ line }) => last.includes(JSON.stringify(line).slice(1, -1)));
  const compactions = requests.filter(({ lane }) => lane === "summary").length;
  // What prices decide about is pruning that pays: everything else is the same session at other prices.
  for (const id of side === PAYING ? [modelID] : Object.keys(MODELS)) {
    const bill = billOf(requests, MODELS[id] as Prices);
    const share = (bill.cachedTokens / bill.sentTokens).toFixed(3);
    const shown = [window, id, turns, side, requests.length, bill.sentTokens, bill.largestTokens, share];
    const rest = [`$${bill.dollars.toFixed(2)}`, compactions, `${named.length} of ${session.named.length}`];
    console.log(`| ${[...shown, ...rest].join(" | ")} |`);
  }
}

/** Price of the requests: the prefix shared with the previous request is cached. */
function billOf(requests: readonly ModelRequest[], prices: Prices) {
  let [sentTokens, cachedTokens, largestTokens, dollars] = [0, 0, 0, 0];
  for (const [index, request] of requests.entries()) {
    const tokens = tokensOf(request.body);
    const earlier = requests.slice(0, index).findLast(({ lane }) => lane === request.lane);
    const sharedChars = earlier === undefined ? 0 : sharedPrefix(earlier, request).sharedChars;
    const cached = Math.min(tokens, Math.floor(sharedChars / CHARS_PER_TOKEN));
    sentTokens += tokens;
    cachedTokens += cached;
    if (request.lane === "main") largestTokens = Math.max(largestTokens, tokens);
    const answered = tokensOf(request.reply) * prices.output;
    dollars += (cached * prices.cacheRead + (tokens - cached) * prices.cacheWrite + answered) / 1e6;
  }
  return { sentTokens, cachedTokens, largestTokens, dollars };
}

function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / CHARS_PER_TOKEN);
}

function providersAt(baseURL: string): Readonly<Record<string, unknown>> {
  const models = (limit: object): object =>
    Object.fromEntries(
      Object.entries(MODELS).map(([id, { input, output, cacheRead, cacheWrite }]) => [
        id,
        {
          name: id,
          tool_call: true,
          limit,
          cost: { input, output, cache_read: cacheRead, cache_write: cacheWrite },
        },
      ]),
    );
  return Object.fromEntries(
    WINDOW_NAMES.map((name) => [
      name,
      {
        npm: "@ai-sdk/openai-compatible",
        name,
        options: { baseURL, apiKey: "none" },
        models: models(WINDOWS[name]),
      },
    ]),
  );
}
