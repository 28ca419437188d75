import { spawn } from "node:child_process";
import { once } from "node:events";
import { generateText, stepCountIs, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { carryover } from "../../src/ai-sdk.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import { createGate } from "../rig/model-server/step.ts";
import { bundleAgent } from "./harness/bundle-agent.ts";
import { startScriptedProvider, summary } from "./harness/scripted-provider.ts";
import { runToolLoop } from "./harness/tool-loop.ts";
import { toolText } from "./harness/tool-texts.ts";

const WINDOW_TOKENS = 32_000;

describe("a summarizer that takes its time", () => {
  it.each(["anthropic", "openai-chat"] as const)(
    "holds up no request while the window fits: %s",
    async (name) => {
      const gate = createGate();
      let answersBefore = 0;
      const provider = await startScriptedProvider({
        windowTokens: WINDOW_TOKENS,
        // It writes when two more requests were answered: whoever waits for it waits for ever.
        summarize: ({ count }) => ({ ...summary(count), after: gate.opened }) as ReturnType<typeof summary>,
        answer: ({ count }) => {
          if (provider.server.requests.some(({ body }) => body.tools === undefined) && ++answersBefore === 2)
            gate.open();
          return count === 40
            ? { type: "answer", text: "Done." }
            : {
                type: "answer",
                text: `Step ${count}.`,
                calls: [{ tool: "read", input: { path: `${count}` } }],
              };
        },
      });
      const events: SessionEvent[] = [];
      const { model, tools, session } = carryover(provider.model(name), {
        limits: { contextTokens: WINDOW_TOKENS, outputTokens: 4_000 },
        // Set, so that a summary is needed; with pruning this loop needs none.
        prune: "off",
        onEvent: (event) => events.push(event),
      });
      let seed = 0;
      const read = tool({
        inputSchema: z.object({ path: z.string() }),
        execute: () => toolText(++seed, 3_000),
      });
      const { text } = await generateText({
        model,
        tools: { read, ...tools },
        prompt: "Read everything.",
        stopWhen: stepCountIs(41),
        maxRetries: 0,
        providerOptions: { openai: { store: false } },
      });
      await session.settled();
      await provider.stop();
      expect(text).toBe("Done.");
      expect(answersBefore).toBeGreaterThan(2);
      expect([provider.refusals(), provider.faults()]).toEqual([0, []]);
      const applied = session
        .ledger()
        .filter(({ step, outcome }) => step === "compact" && outcome === "applied");
      expect(applied.length).toBeGreaterThan(0);
      const starts = events.filter((event) => event.type === "compaction_start");
      expect(starts.every(({ background }) => background)).toBe(true);
      expect(events.filter((event) => event.type === "compaction_end")).toHaveLength(starts.length);
    },
  );
});

describe("a summary in the background that never comes", () => {
  it("does not keep a process alive, unless somebody waits for it", async () => {
    const agent = await bundleAgent("ending-agent.ts");
    try {
      const ending = spawn(process.execPath, [agent.path], { stdio: ["ignore", "pipe", "inherit"] });
      let printed = "";
      ending.stdout.on("data", (chunk) => {
        printed += chunk;
      });
      expect(await once(ending, "close")).toEqual([0, null]);
      expect(printed).toBe("none, 0 in the ledger\n");

      const waiting = spawn(process.execPath, [agent.path, "wait"], { stdio: ["ignore", "pipe", "inherit"] });
      const ended = once(waiting, "close");
      await once(waiting.stdout, "data");
      // The first one was gone by then: nothing was left that could keep it.
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(waiting.exitCode).toBe(null);
      waiting.kill("SIGKILL");
      await ended;
    } finally {
      agent.remove();
    }
  }, 60_000);
});

describe("the price of a loop with summaries that nobody waits for", { timeout: 600_000 }, () => {
  it("is that of one that waits", async () => {
    const price = async (backgroundCompaction: "on" | "off"): Promise<number> => {
      const report = await runToolLoop({
        provider: "anthropic",
        windowTokens: WINDOW_TOKENS,
        steps: 60,
        leastBytes: 2_000,
        mostBytes: 12_000,
        carryover: {
          limits: { contextTokens: WINDOW_TOKENS, outputTokens: 4_000 },
          prune: "off",
          backgroundCompaction,
        },
      });
      expect([report.text, report.refusals, report.faults]).toEqual(["All files are read.", 0, []]);
      return report.price;
    };
    const ratio = (await price("on")) / (await price("off"));
    console.log(`  ${ratio.toFixed(3)} of the price`);
    expect(ratio).toBeLessThanOrEqual(1.02);
  });
});
