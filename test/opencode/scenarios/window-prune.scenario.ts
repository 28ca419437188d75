import { describe, expect } from "vitest";
import { batchesInForce } from "../../../src/plugin/stores/edits-in-force.ts";
import { outcomeText } from "../../../src/transcript/content.ts";
import type { Transcript } from "../../../src/transcript/message.ts";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import { callAll, say } from "../../rig/model-server/step.ts";
import { createLongSession } from "../../rig/opencode/long-session.ts";
import { sharedPrefix } from "../../rig/opencode/shared-prefix.ts";
import type { HostRig, RigOptions } from "../harness/host-rig.ts";
import { isOpenCode1 } from "../harness/rig.ts";
import { describeHosts, scenario } from "../harness/scenario.ts";
import { handlesIn, journalOf, prunedLinesOf } from "./window-support.ts";

const SESSION = createLongSession();
/** 64,000 tokens, priced as Anthropic does. */
const MODEL = { providerID: "scripted", modelID: "claude-sonnet-64k" } as const;
/** What the host fills before it compacts: it keeps 8,000 for an answer, version 2 always 20,000. */
const USABLE_TOKENS = { opencode: 56_000, opencode2: 44_000 } as const;
const SUMMARY = say("## Objective\n- Go through the functions", { lane: "summary", times: "always" });

const BARE: RigOptions = { files: SESSION.files, start: "later" };
const AUTO = {
  ...BARE,
  plugin: { prune: "auto" },
  why: "by default nothing is pruned before the window is nearly full",
  twin: "sixty steps in a window of 64,000 tokens",
} as const;

describeHosts("pruning when the window is full", (host) => {
  host.scenario(
    "sixty steps in a window of 64,000 tokens",
    {
      ...BARE,
      plugin: {},
      timeoutMs: 600_000,
      proves: "with default options the host does not compact where it did without us",
    },
    async (rig) => {
      const played = await playSession(rig, 1);
      expect(played.compactions).toBe(0);
      expect(played.largestTokens).toBeLessThan(USABLE_TOKENS[host.name]);
      expect(played.breaks).toBe(batchesInForce(await journalOf(rig, played.id)).length);
      expect(handlesIn(played.last)).not.toEqual([]);
      if (isOpenCode1(rig)) {
        const shown = await prunedLinesOf(rig, played.id);
        expect(shown).toHaveLength(played.breaks);
        for (const line of shown) expect(line).toMatch(/^\*pruned: \d+ old outputs?; recall brings/);
      }
      await recallAll(rig, played);

      await rig.restart({ plugin: "none", config: configFor(rig) });
      const bare = await playSession(rig, 1);
      expect(bare.compactions).toBeGreaterThanOrEqual(2);
      expect(named(played.last).length).toBeGreaterThan(named(bare.last).length);
    },
  );
});

describe("pruning", () => {
  scenario(
    "sixty steps in twelve turns that are pruned whenever it pays",
    {
      ...AUTO,
      timeoutMs: 600_000,
      proves:
        "the window stays under its mark; lines that were named stay; every gap has a handle by which the model gets it back; each break of the prefix is a batch",
    },
    async (rig) => {
      const played = await playSession(rig, 12);
      expect(played.compactions).toBe(0);
      expect(played.largestTokens).toBeLessThan(0.9 * USABLE_TOKENS.opencode);
      expect(played.breaks).toBe(batchesInForce(await journalOf(rig, played.id)).length);
      expect(played.cachedShare).toBeGreaterThan(0.85);
      expect(named(played.last).length).toBeGreaterThan(2);
      await recallAll(rig, played);

      const sent = rig.requests({ sessionId: played.id }).at(-1);
      const batches = batchesInForce(await journalOf(rig, played.id)).length;
      await rig.kill9();
      await rig.restart();
      await rig.turn(played.id, { text: "And once more.", model: MODEL }, [say("Done.")]);
      const after = rig.requests({ sessionId: played.id }).at(-1);
      const isLonger = batchesInForce(await journalOf(rig, played.id)).length > batches;
      expect(continues(after, sent)).toBe(!isLonger);
    },
  );
});

interface Played {
  readonly id: string;
  readonly compactions: number;
  readonly largestTokens: number;
  /** How many requests did not begin with the one before. */
  readonly breaks: number;
  readonly cachedShare: number;
  readonly last: ModelRequest | undefined;
}

async function playSession(rig: HostRig, turns: 1 | 12): Promise<Played> {
  await rig.restart({ config: configFor(rig) });
  const id = await rig.newSession();
  rig.model.script([{ ...SUMMARY, sessionId: id }]);
  for (const { prompt, steps } of SESSION.turns(turns, rig.tools))
    await rig.turn(id, { text: prompt, model: MODEL }, steps);
  const requests = rig.requests({ sessionId: id });
  const sizes = requests.map(({ body }) => JSON.stringify(body).length);
  const shared = requests.map((request, index) => {
    const earlier = requests[index - 1];
    return earlier === undefined ? 0 : sharedPrefix(earlier, request).sharedChars;
  });
  return {
    id,
    compactions: rig.requests({ sessionId: id, lane: "summary" }).length,
    largestTokens: Math.max(...sizes) / 4,
    breaks: requests.filter((request, index) => index > 0 && !continues(request, requests[index - 1])).length,
    cachedShare: sum(shared) / sum(sizes),
    last: requests.at(-1),
  };
}

/** The model calls `recall` with every handle that it finds in its last request, and gets what stands behind it. */
async function recallAll(rig: HostRig, { id, last }: Played): Promise<void> {
  const handles = handlesIn(last);
  const beginnings = outputsIn(await rig.transcript(id)).map((text) =>
    text.split("\n").slice(0, 15).join("\n"),
  );
  await rig.turn(id, { text: "Get everything back.", model: MODEL }, [
    callAll(handles.map((handle) => ({ tool: "recall", input: { handle, range: "1-30" } }))),
    say("Got it."),
  ]);
  const recalled = outputsIn(await rig.transcript(id), "recall");
  expect(recalled).toHaveLength(handles.length);
  for (const [index, text] of recalled.entries())
    expect(
      beginnings.some((beginning) => text.includes(beginning)),
      `${handles[index]} gave ${text.slice(0, 300)}`,
    ).toBe(true);
}

function outputsIn(transcript: Transcript, tool?: string): readonly string[] {
  const parts = transcript.flatMap((message) => message.parts);
  return parts.flatMap((part) =>
    part.type === "tool" && (tool === undefined || part.tool === tool) ? [outcomeText(part.outcome)] : [],
  );
}

/** The lines that declare the functions which the user named, as far as a request shows them. */
function named(request: ModelRequest | undefined): readonly string[] {
  const text = JSON.stringify(request?.body);
  return SESSION.named
    .filter(({ line }) => text.includes(JSON.stringify(line).slice(1, -1)))
    .map(({ name }) => name);
}

/** True when a request is the one before it with more at its end. */
function continues(request: ModelRequest | undefined, before: ModelRequest | undefined): boolean {
  return request !== undefined && before !== undefined && sharedPrefix(before, request).share === 1;
}

function configFor(rig: HostRig): Readonly<Record<string, unknown>> {
  const model = {
    name: "Scripted, 64,000 tokens",
    tool_call: true,
    limit: { context: 64_000, output: 8_000 },
    cost: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 },
  };
  const provider = {
    npm: "@ai-sdk/openai-compatible",
    name: "Scripted",
    options: { baseURL: rig.model.url, apiKey: "none" },
    models: { [MODEL.modelID]: model, "long-window": { ...model, name: "Titles" } },
  };
  return { provider: { scripted: provider } };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
