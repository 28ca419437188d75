import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { UnknownObject } from "../../text/unknown-value.ts";
import { openclawPlugin } from "./plugin.ts";

type Method = (params: UnknownObject) => Promise<UnknownObject>;

/** What OpenClaw does with a plugin, in memory. */
function load(config: object = {}) {
  let engine: UnknownObject = {};
  let tool: (context: object) => UnknownObject = () => ({});
  let middleware: (event: never, context: object) => Promise<unknown> = async () => undefined;
  openclawPlugin.register({
    pluginConfig: { folder, ...config },
    registerContextEngine: (id, create) => {
      if (id === "carryover") engine = create() as unknown as UnknownObject;
    },
    registerTool: (create) => {
      tool = create as never;
    },
    registerAgentToolResultMiddleware: (handler) => {
      middleware = handler as never;
    },
  });
  const call = (name: string, params: object): Promise<UnknownObject> =>
    (engine[name] as Method).call(engine, { sessionKey: "agent:main:a", ...params });
  const run = async (toolName: string, text: string) => {
    const result = { content: [{ type: "text", text }], details: {} };
    const event = { toolName, toolCallId: "c", args: {}, result };
    const changed = await middleware(event as never, { sessionKey: "agent:main:a" });
    return (changed as { result: { content: [{ text: string }] } } | undefined)?.result.content[0].text;
  };
  const recall = async (input: object, sessionKey = "agent:main:a") => {
    const execute = tool({ sessionKey }).execute as (id: string, input: object) => Promise<unknown>;
    return ((await execute("c", input)) as { content: [{ text: string }] }).content[0].text;
  };
  return { info: engine.info, call, run, recall };
}

/** The same in another process: what was in memory is gone. */
const restarted = () => load({ pins: [] });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "carryover-openclaw-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Turns with an output of about so many characters each. */
function history(turns: number, outputChars: number): UnknownObject[] {
  return Array.from({ length: turns }, (_, turn) => {
    const lines = Array.from(
      { length: Math.ceil(outputChars / 24) },
      (_, line) => `${turn} line ${line} of file`,
    );
    const answer = { api: "x", provider: "p", model: "m", usage: { input: 1 }, timestamp: turn };
    const call = { type: "toolCall", id: `c${turn}`, name: "read", arguments: { path: `src/${turn}.ts` } };
    return [
      {
        role: "user",
        content: turn === 0 ? "Never push to main. #pin" : `Question ${turn}`,
        timestamp: turn,
      },
      {
        role: "assistant",
        content: [{ type: "thinking", thinking: "Hm.", thinkingSignature: "s" }, call],
        stopReason: "toolUse",
        ...answer,
      },
      {
        role: "toolResult",
        toolCallId: `c${turn}`,
        toolName: "read",
        content: [{ type: "text", text: lines.join("\n") }],
        isError: false,
        timestamp: turn,
      },
      {
        role: "assistant",
        content: [{ type: "text", text: `Answer ${turn}` }],
        stopReason: "stop",
        ...answer,
      },
    ];
  }).flat();
}

const assembled = async (
  plugin: ReturnType<typeof load>,
  messages: UnknownObject[],
  tokenBudget: number,
  more = {},
) =>
  (await plugin.call("assemble", { messages, tokenBudget, ...more })) as {
    messages: UnknownObject[];
    estimatedTokens: number;
  };

describe("the context engine of OpenClaw", () => {
  it("declares what newer hosts ask for, and owns the compaction unless that is OpenClaw's", () => {
    expect(load().info).toMatchObject({
      id: "carryover",
      ownsCompaction: true,
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
    });
    expect(load({ compactAt: "never" }).info).toMatchObject({ ownsCompaction: false });
    expect(() => load({ compaction: "host" })).toThrow(
      /compaction is not an option; give compactAt "never" where OpenClaw sums up/,
    );
  });

  it("gives messages that fit back as the very objects that came", async () => {
    const messages = history(2, 500);
    const result = await assembled(load(), messages, 100_000);
    expect(result.messages).toHaveLength(messages.length);
    for (const [index, message] of result.messages.entries()) expect(message).toBe(messages[index]);
  });

  it("stays within the budget, keeps pins and the newest turn, and says the same again after a restart", async () => {
    const messages = history(14, 12_000);
    const { messages: sent, estimatedTokens } = await assembled(load(), messages, 20_000);
    expect(estimatedTokens).toBeLessThan(20_000);
    expect(JSON.stringify(sent).length / 4).toBeLessThan(20_000);
    expect(JSON.stringify(sent)).toContain("Never push to main. #pin");
    expect(sent.at(-1)).toBe(messages.at(-1));
    const calls = JSON.stringify(sent).match(/"toolCall"/g)?.length ?? 0;
    expect(sent.filter(({ role }) => role === "toolResult")).toHaveLength(calls);
    expect((await assembled(restarted(), messages, 20_000)).messages).toEqual(sent);
    expect(messages).toEqual(history(14, 12_000));
  });

  it("sums up when it is asked to, with the model that OpenClaw lends, and without one", async () => {
    const summary = "## Goal\nRead.\n## Progress\nThe files were read.\n## Next steps\nGo on.";
    for (const llm of [{ complete: async () => ({ text: summary }) }, undefined]) {
      const sessionKey = `agent:main:${llm === undefined ? "fold" : "model"}`;
      const plugin = load();
      const messages = history(26, 6_000);
      await assembled(plugin, messages, 100_000, { sessionKey });
      const done = await plugin.call("compact", { sessionKey, runtimeContext: { llm } });
      expect(done).toMatchObject({ ok: true, compacted: true });
      const { messages: sent } = await assembled(plugin, messages, 100_000, { sessionKey });
      expect(JSON.stringify(sent).length).toBeLessThan(JSON.stringify(messages).length / 2);
      expect(JSON.stringify(sent)).toContain("Never push to main. #pin");
      if (llm) expect(JSON.stringify(sent)).toContain("The files were read.");
    }
    expect(await load().call("compact", { sessionKey: "agent:main:new" })).toMatchObject({
      compacted: false,
    });
  });

  it("takes a turn in once, in another process too", async () => {
    const turn = { advancementKey: "t1", messages: history(1, 10) };
    expect(await load().call("commitTurn", turn)).toEqual({ status: "committed" });
    expect(await restarted().call("commitTurn", turn)).toEqual({ status: "duplicate" });
    expect(await load().call("commitTurn", { ...turn, advancementKey: "t2" })).toEqual({
      status: "committed",
    });
  });

  it("lets a fork see what its parent sees, and an isolated child nothing", async () => {
    const plugin = load();
    const messages = history(14, 12_000);
    const { messages: sent } = await assembled(plugin, messages, 20_000);
    const spawn = (childSessionKey: string, contextMode: string) =>
      plugin.call("prepareSubagentSpawn", { parentSessionKey: "agent:main:a", childSessionKey, contextMode });
    const prepared = await spawn("agent:main:child", "fork");
    const inherited = await assembled(plugin, messages, 200_000, { sessionKey: "agent:main:child" });
    expect(inherited.messages).toEqual(sent);
    expect(await spawn("agent:main:alone", "isolated")).toBeUndefined();
    const alone = await assembled(plugin, messages, 200_000, { sessionKey: "agent:main:alone" });
    expect(alone.messages).not.toEqual(sent);
    await (prepared.rollback as () => Promise<void>)();
    const rolledBack = await assembled(plugin, messages, 200_000, { sessionKey: "agent:main:child" });
    expect(rolledBack.messages).not.toEqual(sent);
  });

  it("trims a long output, and recalls the rest by its words, in a fork too", async () => {
    const plugin = load();
    const whole = Array.from({ length: 6_000 }, (_, line) => `row ${line} is ${line * 7}`).join("\n");
    const shown = await plugin.run("exec", whole);
    expect(shown).toContain("row 5999 is");
    expect(shown).not.toContain("row 3000 is");
    expect(await plugin.run("exec", "short")).toBeUndefined();
    expect(await plugin.run("recall", whole)).toBeUndefined();
    expect(await plugin.recall({ search: "row 3000" })).toContain("row 3000 is 21000");
    const fork = { parentSessionKey: "agent:main:a", childSessionKey: "agent:main:f", contextMode: "fork" };
    await plugin.call("prepareSubagentSpawn", fork);
    expect(await restarted().recall({ search: "row 3000" }, "agent:main:f")).toContain("row 3000 is 21000");
  });

  it("leaves the messages as they are where it fails", async () => {
    const messages = [{ role: "user", content: 5 }, null] as never as UnknownObject[];
    expect((await assembled(load(), messages, 1_000)).messages).toEqual(messages);
  });
});
