import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MockLanguageModelV3 } from "ai/test";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readTranscript } from "../src/formats/read-transcript.ts";
import type { SessionMessage } from "../src/formats/wires/opencode/decode-messages.ts";
import { carryover } from "../src/hosts/ai-sdk/carryover.ts";
import type { CarryoverOptions } from "../src/hosts/ai-sdk/options.ts";
import type { Hooks } from "../src/hosts/opencode/hooks.ts";
import { createServer } from "../src/hosts/opencode/server.ts";
import { batchesInForce } from "../src/plugin/stores/edits-in-force.ts";
import { readPluginJournal } from "../src/plugin/stores/journal.ts";
import { buildCli } from "./rig/build-cli.ts";
import { LONG_WINDOW } from "./rig/opencode/sandbox.ts";
import type { History } from "./rig/random-history/history.ts";
import { lowerToClaudeCode, lowerToCodex, lowerToPi } from "./rig/random-history/lower-to-files.ts";
import { PROVIDER_CASES } from "./rig/random-history/provider-cases.ts";
import {
  expectedPairs,
  historyWith,
  lowerToAiSdk,
  lowerToOpenCodeIds,
  pairs,
  sharedIds,
} from "./rig/random-history/shared-call-ids.ts";
import { createCliRunner } from "./rig/run-cli.ts";
import { runs } from "./rig/runs.ts";

const folder = mkdtempSync(join(tmpdir(), "carryover-call-ids-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));

/** So long that results have to leave a small window, and so short that `recall` gives a message with four of them at once. */
const LONG_OUTPUT = "\nsteady as she goes\n".repeat(45);

/** The results that stand whole in none of the texts. */
function missingFrom(texts: readonly string[], turns: readonly (readonly string[])[]): readonly string[] {
  return turns
    .flat()
    .map((_, index) => `result ${index + 1}.`)
    .filter((result) => !texts.some((text) => text.includes(`${LONG_OUTPUT}${result}${LONG_OUTPUT}`)));
}

/** Every text in a value. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The conversation after each step behind which a model is asked. */
function growing(history: History): readonly History[] {
  return history.steps.flatMap(({ type }, index) =>
    type === "model" ? [] : [{ ...history, steps: history.steps.slice(0, index + 1) }],
  );
}

describe("calls that share an id, through the middleware of the AI SDK", () => {
  const usage = {
    inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 2, text: 2, reasoning: 0 },
  };

  /** Asks the model after each step, as a loop does, and gives the last request and the conversation behind it. */
  async function ask(history: History, options?: CarryoverOptions) {
    const base = new MockLanguageModelV3({
      doGenerate: {
        content: [{ type: "text", text: "I look." }],
        finishReason: { unified: "stop", raw: "stop" },
        usage,
        warnings: [],
      },
    });
    const { model, session } = carryover(base, options);
    for (const each of growing(history)) await model.doGenerate({ prompt: lowerToAiSdk(each) as never });
    return { sent: base.doGenerateCalls.at(-1)?.prompt ?? [], session };
  }

  it("are all sent, each with its own result and under a name of its own", async () => {
    await fc.assert(
      fc.asyncProperty(sharedIds, async (turns) => {
        const { sent } = await ask(historyWith(turns));
        const parts = sent.flatMap(({ content }) => (typeof content === "string" ? [] : [...content]));
        const asked = parts.flatMap((part) => (part.type === "tool-call" ? [part] : []));
        const got = parts.flatMap((part) => (part.type === "tool-result" ? [part] : []));
        const found = asked.map(({ toolCallId, input }) => {
          const results = got.filter((result) => result.toolCallId === toolCallId);
          const texts = results.map(({ output }) => (output.type === "text" ? output.value : ""));
          return `${(input as { command: string }).command} → ${texts.join(" and ")}`;
        });
        expect(found).toEqual(expectedPairs(turns));
      }),
      { numRuns: runs(200) },
    );
  });

  it("are in a window that is too small for them, or are recalled by the handle of an edit", async () => {
    let left = 0;
    await fc.assert(
      fc.asyncProperty(sharedIds, async (turns) => {
        const { sent, session } = await ask(historyWith(turns, LONG_OUTPUT), {
          limits: { contextTokens: 4_000, outputTokens: 500 },
        });
        const handles = session.edits().flatMap((edit) => edit.omitted?.handle ?? []);
        const recalled = await Promise.all(handles.map((handle) => session.recall(handle)));
        const texts = recalled.map((each) => (each.status === "found" ? each.text : ""));
        left += missingFrom(textsIn(sent), turns).length;
        expect(missingFrom([...textsIn(sent), ...texts], turns)).toEqual([]);
      }),
      { numRuns: runs(100, 20) },
    );
    expect(left).toBeGreaterThan(0);
  });
});

describe("calls that share an id, through the plugin in OpenCode", () => {
  const sessionID = "ses_oracle00000001";

  /** Shows the plugin the conversation as it grows, and gives the last request and what its edits took out, as `recall` has it. */
  async function play(history: History, contextTokens?: number) {
    const store = mkdtempSync(join(folder, "plugin-"));
    let stored: readonly SessionMessage[] = [];
    const answer = (path: string): unknown => {
      if (path === `/session/${sessionID}`) return { id: sessionID };
      if (path === "/agent") return [{ name: "build", mode: "primary", permission: [] }];
      return path.endsWith("/message") ? stored : {};
    };
    const fetch = async (request: Request) => Response.json(answer(new URL(request.url).pathname));
    const client = { _client: { getConfig: () => ({ baseUrl: "http://host.invalid", fetch }) } };
    const hooks: Hooks = await createServer(
      { client, directory: store, worktree: store },
      { store, log: "off" },
    );
    let sent: SessionMessage[] = [];
    for (const each of growing(history)) {
      stored = lowerToOpenCodeIds(each).messages;
      if (contextTokens !== undefined)
        await hooks["chat.params"]?.(chatInput(contextTokens), OUTPUT as never);
      sent = structuredClone(stored) as SessionMessage[];
      await hooks["experimental.chat.messages.transform"]?.({}, { messages: sent });
    }
    const { entries } = await readPluginJournal({ folder: join(store, "journal"), rootSessionId: sessionID });
    const handles = batchesInForce(entries).flatMap(({ batch }) =>
      batch.edits.flatMap((edit) => ("omitted" in edit ? (edit.omitted?.handle ?? []) : [])),
    );
    const recalled = await Promise.all(
      handles.map((handle) => hooks.tool?.recall?.execute({ handle }, TOOL_CONTEXT as never)),
    );
    await hooks.dispose?.();
    return { sent, recalled: recalled.map(String) };
  }

  const OUTPUT = { options: {} };
  const chatInput = (context: number) => ({
    sessionID,
    agent: "build",
    model: { id: LONG_WINDOW.modelID, providerID: LONG_WINDOW.providerID, limit: { context, output: 500 } },
    message: {},
  });
  const TOOL_CONTEXT = {
    sessionID,
    messageID: "msg_running",
    callID: "call_now",
    agent: "build",
    abort: new AbortController().signal,
    metadata: () => {},
    ask: async () => {},
  };

  it("are all sent as OpenCode has them where there is room", async () => {
    await fc.assert(
      fc.asyncProperty(sharedIds, async (turns) => {
        const { sent } = await play(historyWith(turns));
        expect(sent).toEqual(lowerToOpenCodeIds(historyWith(turns)).messages);
      }),
      { numRuns: runs(60, 10) },
    );
  });

  it("are in a window that is too small for them, or are given by recall for the handle of an edit", async () => {
    let left = 0;
    await fc.assert(
      fc.asyncProperty(sharedIds, async (turns) => {
        const { sent, recalled } = await play(historyWith(turns, LONG_OUTPUT), 4_000);
        left += missingFrom(textsIn(sent), turns).length;
        expect(missingFrom([...textsIn(sent), ...recalled], turns)).toEqual([]);
      }),
      { numRuns: runs(60, 10) },
    );
    expect(left).toBeGreaterThan(0);
  });
});

describe("calls that share an id, through `carryover fork --as messages`", () => {
  let cli = "";
  const run = createCliRunner(() => cli);
  beforeAll(async () => {
    cli = await buildCli("call-ids");
  });
  const lines = (write: (history: History) => readonly unknown[]) => (history: History) =>
    write(history)
      .map((line) => JSON.stringify(line))
      .join("\n");
  const files: readonly (readonly [name: string, write: (history: History) => string])[] = [
    ["claude-code.jsonl", lines(lowerToClaudeCode)],
    ["codex.jsonl", lines(lowerToCodex)],
    ["pi.jsonl", lines(lowerToPi)],
    ["opencode.json", (history) => JSON.stringify(lowerToOpenCodeIds(history))],
    ["ai-sdk.json", (history) => JSON.stringify(lowerToAiSdk(history))],
    ...PROVIDER_CASES.map(
      ({ api, lower }) => [`${api}.json`, (history: History) => JSON.stringify(lower(history))] as const,
    ),
  ];

  it.each(files)("of %s", async (name, write) => {
    await fc.assert(
      fc.asyncProperty(sharedIds, async (turns) => {
        const path = join(folder, name);
        writeFileSync(path, write(historyWith(turns)));
        const { status, stdout } = await run(["fork", path, "--as", "messages"]);
        expect(status).toBe(0);
        const { transcript } = await readTranscript(new TextEncoder().encode(stdout));
        expect(pairs(transcript)).toEqual(expectedPairs(turns));
      }),
      { numRuns: runs(20, 2) },
    );
  });
});
