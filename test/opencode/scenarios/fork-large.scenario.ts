import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { expect } from "vitest";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import { call, say } from "../../rig/model-server/step.ts";
import { LONG_WINDOW } from "../../rig/opencode/sandbox.ts";
import { sharedPrefix } from "../../rig/opencode/shared-prefix.ts";
import { historyOf, modelSays, resultOf, type Step, userSays } from "../../rig/random-history/history.ts";
import { lowerToOpenCode } from "../../rig/random-history/lower-to-opencode.ts";
import type { Rig } from "../harness/rig.ts";
import { scenario } from "../harness/scenario.ts";
import {
  childrenOf,
  firstChildRequest,
  requestWith,
  textOf,
  toastsOf,
  waitForDeliveries,
} from "./fork-support.ts";

const FEW = { inputTokens: 1_000, outputTokens: 10 };

/** A hundred turns of three messages: a question, a call with 1,600 characters of output, an answer. */
const LONG_SESSION: readonly Step[] = Array.from({ length: 100 }, (_, turn) => {
  const call = { id: `call_${turn}`, tool: "bash", input: { command: `cat ${turn}.txt` } };
  return [
    userSays(`Question ${turn} about the cat.`),
    modelSays("I look.", [call]),
    resultOf(call, `OUTPUT-${turn} ${"grey ".repeat(420)}`),
    modelSays(`Answer ${turn}.`),
  ];
}).flat();

scenario(
  "a parent of 300 messages and 200,000 characters forks exactly",
  {
    plugin: {},
    start: "later",
    proves:
      "with a model of which no price is known, 99 % of a large body is the child's prefix, and no session rows were copied",
  },
  async (rig) => {
    const [id = ""] = await rig.importSessions([lowerToOpenCode(historyOf(LONG_SESSION), { number: 1 })]);
    const child = await forkOf(rig, id);
    const parent = requestWith(rig, id, "Fork it.");
    const shared = sharedPrefix(parent, child);
    expect(shared.earlierChars).toBeGreaterThan(200_000);
    expect(shared.share).toBeGreaterThan(0.99);
    await waitForDeliveries(rig, id, 1);
    const [session] = await childrenOf(rig, id);
    expect((await rig.opencode.messages(session?.id ?? "")).length).toBe(2);
    expect(listeningSockets(rig)).toBe(1);
  },
);

scenario(
  "a parent that is larger than half of the window forks trimmed by itself",
  {
    plugin: {},
    start: "later",
    proves: "the choice and its reason are told; the child's context fits the budget",
  },
  async (rig) => {
    const [id = ""] = await rig.importSessions([
      lowerToOpenCode(historyOf([...LONG_SESSION, ...LONG_SESSION, ...LONG_SESSION]), { number: 2 }),
    ]);
    const child = await forkOf(rig, id);
    expect(textOf(requestWith(rig, id, "(trimmed: the conversation"))).toContain(
      "would fill more than half of the child's window",
    );
    expect(textOf(child).length).toBeLessThan(300_000);
    await waitForDeliveries(rig, id, 1);
  },
);

scenario(
  "a full fork that misses the cache is noticed",
  {
    plugin: {},
    start: "later",
    proves: "one toast where that costs something, none for a short conversation or a hit",
  },
  async (rig) => {
    await rig.restart({ config: pricedConfig(rig) });
    const missed = (): number => toastsOf(rig).filter((text) => text.includes("provider's cache")).length;
    for (const { inputTokens, cachedTokens, toasts } of [
      { inputTokens: 1_100, cachedTokens: 0, toasts: 0 },
      { inputTokens: 20_000, cachedTokens: 19_900, toasts: 0 },
      { inputTokens: 20_000, cachedTokens: 100, toasts: 1 },
    ]) {
      const id = await rig.newSession();
      const usage = { inputTokens, outputTokens: 10, cachedTokens: inputTokens - 100 };
      rig.model.script([
        say("The report.", { family: "child", usage: { ...usage, cachedTokens } }),
        say("Seen.", { sessionId: id, contains: "fork_result delivery", usage }),
      ]);
      await rig.turn(id, "Hello.", [say("Hello.", { usage })]);
      await rig.turn(id, "Fork it.", [
        call("fork", { prompt: "Check." }, { usage }),
        say("Forked.", { usage }),
      ]);
      await rig.waitFor(() => rig.model.unusedSteps().length === 0, "the delivery");
      await rig.opencode.waitUntilIdle(id);
      expect(textOf(requestWith(rig, id, "It inherited"))).toContain("(full: ");
      expect(missed(), `${cachedTokens} of ${inputTokens}`).toBe(toasts);
    }
  },
);

/** The long window at the price of Sonnet. */
function pricedConfig(rig: Rig): Readonly<Record<string, unknown>> {
  const model = {
    name: "Priced",
    tool_call: true,
    limit: { context: 200_000, output: 32_000 },
    cost: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 },
  };
  const provider = {
    npm: "@ai-sdk/openai-compatible",
    name: "Scripted",
    options: { baseURL: rig.model.url, apiKey: "none" },
    models: { [LONG_WINDOW.modelID]: model },
  };
  return { provider: { scripted: provider } };
}

/** How many ports the programs of the sandbox listen on. */
function listeningSockets(rig: Rig): number {
  const inodes = new Set<string>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, "utf8").includes(`HOME=${rig.sandbox.home}`)) continue;
      for (const fd of readdirSync(`/proc/${pid}/fd`)) {
        const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
        if (inode !== undefined) inodes.add(inode);
      }
    } catch {
      // It ended meanwhile.
    }
  }
  const listening = ["/proc/net/tcp", "/proc/net/tcp6"]
    .flatMap((file) => readFileSync(file, "utf8").split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state]) => state === "0A")
    .map((columns) => columns[9] ?? "");
  return listening.filter((inode) => inodes.has(inode)).length;
}

/** The first request of a child of an imported session, which its parent starts with the whole conversation. */
async function forkOf(rig: Rig, id: string): Promise<ModelRequest> {
  await rig.restart();
  rig.model.script([
    say("The report.", { family: "child", usage: FEW }),
    say("Seen.", { sessionId: id, contains: "fork_result delivery", usage: FEW }),
  ]);
  await rig.turn(id, "Fork it.", [
    call("fork", { prompt: "Check." }, { usage: FEW }),
    say("Forked.", { usage: FEW }),
  ]);
  return firstChildRequest(rig, id);
}
