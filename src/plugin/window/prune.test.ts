import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createTestContext, hooksOf, type TestContext } from "../../../test/rig/plugin-context.ts";
import type { SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import { CLEARED_PLACEHOLDER } from "../../transcript/part.ts";
import type { FeatureFailure } from "../combine-features.ts";
import type { HostSignal } from "../host/agent-host.ts";
import { batchesInForce } from "../stores/edits-in-force.ts";
import { createModelWindows } from "./model-windows.ts";
import { createPinnedTexts } from "./pins.ts";
import { createPruneWindow, type PruneWindow } from "./prune.ts";

const PRUNING = { prune: "auto", models: { "p/m": { keepTokens: 1_000 } } };
const SESSION = "ses_1";

function load({ context }: TestContext, children: readonly string[] = []) {
  const failures: FeatureFailure[] = [];
  const windows = createModelWindows(context.options);
  const pruning = createPruneWindow({
    context,
    pins: createPinnedTexts(context.options.pin),
    windows,
    isChild: async (id) => children.includes(id),
  });
  const hooks = hooksOf([windows.feature, pruning.feature], (failure) => void failures.push(failure));
  const send = async (messages: readonly SessionMessage[]): Promise<readonly SessionMessage[]> => {
    const list = structuredClone(messages) as SessionMessage[];
    await hooks["experimental.chat.messages.transform"]?.({}, { messages: list });
    return list;
  };
  const signal = async (given: HostSignal): Promise<void> => windows.feature.onSignal?.(given);
  return { hooks, pruning, failures, send, signal };
}

function user(id: string, text: string): SessionMessage {
  const info = { id, sessionID: SESSION, role: "user", time: { created: 1 } };
  return {
    info: { ...info, model: { providerID: "p", modelID: "m" } },
    parts: [{ id: `${id}-1`, sessionID: SESSION, messageID: id, type: "text", text }],
  };
}

function step(id: string, output: string): SessionMessage {
  const time = { start: 1, end: 2 };
  const state = { status: "completed", input: { command: id }, output, title: "", metadata: {}, time };
  return {
    info: {
      id,
      sessionID: SESSION,
      role: "assistant",
      finish: "tool-calls",
      providerID: "p",
      modelID: "m",
      time: { created: 1, completed: 2 },
    },
    parts: [
      { id: `${id}-1`, sessionID: SESSION, messageID: id, type: "tool", callID: id, tool: "bash", state },
    ],
  };
}

const OUTPUT = "steady as she goes\n".repeat(2_000);
const CONVERSATION: readonly SessionMessage[] = [
  user("u1", "Make four. #pin the port is 4711"),
  ...[1, 2, 3, 4].map((number) => step(`a${number}`, `mark-${number}\n${OUTPUT}`)),
  user("u2", "Go on."),
  user("u3", "Go on."),
];

/** The steps that are not sent as they are. */
function prunedIn(messages: readonly SessionMessage[]): readonly string[] {
  const sent = new Map(messages.map((message) => [message.info.id, JSON.stringify(message)]));
  return CONVERSATION.filter((message) => sent.get(message.info.id) !== JSON.stringify(message)).map(
    ({ info }) => String(info.id),
  );
}

/** A step in whose request the provider counted so many tokens. */
function counted(id: string, output: string, tokens: number): SessionMessage {
  const { info, parts } = step(id, output);
  const cache = { read: Math.round(tokens * 0.8), write: 0 };
  return {
    info: { ...info, tokens: { input: tokens - cache.read, output: 50, reasoning: 0, cache } },
    parts,
  };
}

it.each([44_000, 48_000, 56_000, 64_000, 100_000])(
  "by default the agent has no reason to compact a window of %d, of which it keeps 20,000 free",
  async (contextTokens) => {
    const { send, signal } = load(createTestContext());
    await signal({
      type: "request",
      sessionId: SESSION,
      model: { provider: "p", id: "m", contextTokens, outputTokens: 20_000 },
    });
    const messages = [user("u1", "Look at all of them.")];
    for (let number = 1; number <= 30; number += 1) {
      const sent = await send(messages);
      const tokens = 3_700 + Math.round(JSON.stringify(sent).length / 4);
      expect(tokens).toBeLessThan(contextTokens - 20_000);
      const row = (line: number) =>
        `step ${number} row ${line} value ${line * number} lorem ipsum dolor sit amet`;
      messages.push(
        counted(`a${number}`, Array.from({ length: 220 }, (_, line) => row(line)).join("\n"), tokens),
      );
    }
  },
);

describe("pruning", () => {
  it("leaves lines of old outputs, and the same ones in every request from then on, after a restart too", async () => {
    const first = createTestContext({ options: PRUNING });
    const { send } = load(first);
    const once = await send(CONVERSATION);
    expect(prunedIn(once)).toEqual(["a1", "a2", "a3"]);
    expect(JSON.stringify(once)).toMatch(/whole[^\]]*: a1/);
    expect(JSON.stringify(once)).not.toContain(CLEARED_PLACEHOLDER);
    expect(await send(CONVERSATION)).toEqual(once);
    const again = load(createTestContext({ options: PRUNING, store: first.folder }));
    expect(await again.send(CONVERSATION)).toEqual(once);
    expect(again.failures).toEqual([]);
  });

  it("writes down what a batch saves", async () => {
    const test = createTestContext({ options: PRUNING });
    await load(test).send(CONVERSATION);
    const [batch] = batchesInForce(await test.entries(SESSION));
    const { tokensBefore = 0, tokensAfter = 0 } = batch?.batch ?? {};
    expect(tokensBefore - tokensAfter).toBeGreaterThan(10_000);
  });

  it.each([
    { name: "it is off", options: {} },
    { name: "the profile is the documented one", options: { ...PRUNING, profile: "documented" } },
    {
      name: "the threshold is not reached",
      options: { prune: "auto", models: { "p/m": { pruneAt: 900_000 } } },
    },
    {
      name: "its share of a window is not known yet",
      options: { prune: "auto", models: { "p/m": { pruneAt: "1%" } } },
    },
  ])("leaves the list alone when $name", async ({ options }) => {
    const { send, failures } = load(createTestContext({ options }));
    expect(await send(CONVERSATION)).toEqual(CONVERSATION);
    expect(failures).toEqual([]);
  });

  it("leaves children alone, whose request begins with their parent's", async () => {
    const { send } = load(createTestContext({ options: PRUNING }), [SESSION]);
    expect(await send(CONVERSATION)).toEqual(CONVERSATION);
  });

  it("lets the host's request for a summary see everything, and goes on afterwards", async () => {
    const { send, hooks } = load(createTestContext({ options: PRUNING }));
    await send(CONVERSATION);
    await hooks["experimental.session.compacting"]?.({ sessionID: SESSION }, { context: [] });
    expect(await send(CONVERSATION)).toEqual(CONVERSATION);
    expect(prunedIn(await send(CONVERSATION))).toHaveLength(3);
  });

  it("goes on with the next message when a summary was announced and never asked for", async () => {
    const { send, hooks } = load(createTestContext({ options: PRUNING }));
    await send(CONVERSATION);
    await hooks["experimental.session.compacting"]?.({ sessionID: SESSION }, { context: [] });
    await hooks["chat.message"]?.({ sessionID: SESSION }, { message: {}, parts: [] });
    expect(prunedIn(await send(CONVERSATION))).toHaveLength(3);
  });

  it("holds only the conversations that were used lately, and sends a forgotten one as before", async () => {
    const { send, pruning } = load(createTestContext({ options: PRUNING }));
    const once = await send(CONVERSATION);
    const other = (number: number): SessionMessage => {
      const { info, parts } = user("u1", "Hello.");
      return { info: { ...info, sessionID: `ses_other${number}` }, parts };
    };
    for (let number = 0; number < 40; number++) await send([other(number)]);
    expect(pruning.isOpen(SESSION)).toBe(false);
    expect(pruning.isOpen("ses_other39")).toBe(true);
    expect(await send(CONVERSATION)).toEqual(once);
  });

  it("spares what is pinned, and takes an edit back that hides something pinned later", async () => {
    const test = createTestContext({ options: { ...PRUNING, pin: ["mark-2"] } });
    expect(prunedIn(await load(test).send(CONVERSATION))).toEqual(["a1", "a3"]);
    const later = createTestContext({
      options: { ...PRUNING, pin: [`mark-3\n${OUTPUT.slice(0, 500)}`] },
      store: test.folder,
    });
    expect(prunedIn(await load(later).send(CONVERSATION))).toEqual([]);
    await expect
      .poll(async () => (await later.entries(SESSION)).filter(({ type }) => type === "pins-kept"))
      .toMatchObject([{ batches: [expect.any(String)] }]);
  });

  it("takes back what somebody wrote into the journal over a #pin message", async () => {
    const test = createTestContext({ options: PRUNING });
    const edit = { type: "hide-message", messageId: "u1", stage: "test", reason: "pruned" };
    const record = { v: 1, type: "batch", id: "b1", step: "prune", reason: "pays", at: 1 };
    await test.context.journal(SESSION).append({
      atMs: 1,
      sessionId: SESSION,
      type: "engine",
      record: { ...record, tokensBefore: 2, tokensAfter: 1, edits: [{ edit, savedTokens: 1, handle: "u1" }] },
    });
    const sent = await load(test).send(CONVERSATION);
    expect(JSON.stringify(sent[0])).toContain("#pin the port is 4711");
    expect(batchesInForce(await test.entries(SESSION)).map(({ batch }) => batch.id)).not.toContain("b1");
  });

  it("gives a batch back when it is asked to, and knows only its own sessions", async () => {
    const { send, pruning } = load(createTestContext({ options: PRUNING }));
    await send(CONVERSATION);
    expect(await undoIn(pruning)).toMatchObject({ status: "undone" });
    expect(prunedIn(await send(CONVERSATION))).toEqual([]);
    expect(await undoIn(pruning)).toEqual({ status: "nothing" });
    expect(pruning.isOpen("ses_other")).toBe(false);
    expect(await pruning.undo("ses_other")).toBeUndefined();
  });
});

/** Turns of an agent in the shape of a recorded step of OpenCode, with outputs as long as they are in real work. */
function recordedSteps(count: number): readonly SessionMessage[] {
  const file = new URL("../../../test/recordings/opencode/plain-tools.json", import.meta.url);
  const { messages } = JSON.parse(readFileSync(file, "utf8")) as { messages: readonly SessionMessage[] };
  const [request, first] = messages as [SessionMessage, SessionMessage];
  let tokens = 8_000;
  const steps = Array.from({ length: count }, (_, number): SessionMessage => {
    const lines = Array.from(
      { length: 120 },
      (_, line) => `${line}: const part_${number}_${line * 7} = load();`,
    );
    const output = lines.join("\n");
    const text = JSON.stringify(first).replaceAll(String(first.info.id), `msg_step_${number}`);
    const step = JSON.parse(text) as { info: Record<string, unknown>; parts: Record<string, unknown>[] };
    tokens += Math.round(output.length / 3);
    step.info = {
      ...step.info,
      ...MODEL,
      tokens: { input: tokens, output: 50, cache: { read: 0, write: 0 } },
    };
    step.parts = step.parts.map((part) => {
      const state = { ...(part.state as object), output, input: { command: `cat part_${number}.ts` } };
      return part.type === "tool" ? { ...part, callID: `call_${number}`, state } : part;
    });
    return step as unknown as SessionMessage;
  });
  const { providerID, modelID } = MODEL;
  return [{ ...request, info: { ...request.info, model: { providerID, modelID } } }, ...steps];
}

const MODEL = { providerID: "anthropic", modelID: "claude-sonnet-4-5" } as const;

describe("pruning of what OpenCode really sends", () => {
  it("makes batches that pay while a conversation grows to 120,000 tokens, and leaves lines and handles", async () => {
    const test = createTestContext({ options: { prune: "auto" } });
    const { send, failures } = load(test);
    const whole = recordedSteps(60);
    const sessionId = String(whole[0]?.info.sessionID);
    const types = new Set(whole[1]?.parts.map(({ type }) => type));
    expect(types).toEqual(new Set(["step-start", "reasoning", "text", "tool", "step-finish"]));
    let sent: readonly SessionMessage[] = [];
    for (let length = 1; length <= whole.length; length += 2) sent = await send(whole.slice(0, length));
    const batches = batchesInForce(await test.entries(sessionId));
    expect(batches.length).toBeGreaterThan(1);
    expect(batches.length).toBeLessThan(10);
    for (const { batch } of batches) expect(batch.tokensAfter).toBeLessThan(batch.tokensBefore);
    const text = JSON.stringify(sent);
    expect(JSON.stringify(whole).length / 3).toBeGreaterThan(100_000);
    expect(text.length).toBeLessThan(JSON.stringify(whole).length / 2);
    expect(text).toMatch(/\[whole result: msg_step_\d+\/\d\]/);
    expect(text).not.toContain(CLEARED_PLACEHOLDER);
    expect(sent.slice(-10)).toEqual(whole.slice(-10));
    expect(failures).toEqual([]);
  });
});

describe("batches on top of each other", () => {
  it("change what they mean also where an earlier one has hidden a part before it", async () => {
    const test = createTestContext({ options: { prune: "auto" } });
    const whole = recordedSteps(3);
    const sessionId = String(whole[0]?.info.sessionID);
    const [, first] = whole;
    const index = first?.parts.findIndex(({ type }) => type === "tool") ?? -1;
    const text = first?.parts.findIndex(({ type }) => type === "text") ?? -1;
    expect(text).toBeGreaterThan(-1);
    expect(index).toBeGreaterThan(text);
    const messageId = String(first?.info.id);
    const [read] = test.context.host.format.decode([first as SessionMessage]);
    const part = { ...read?.parts[index], outcome: { status: "done", output: "lines", attachments: [] } };
    const hide = {
      type: "hide-part",
      what: "part",
      messageId,
      partIndex: text,
      stage: "t",
      reason: "pruned",
    };
    const shorten = { type: "replace-part", messageId, partIndex: index, part, stage: "t", reason: "pruned" };
    for (const [number, edit] of [hide, shorten].entries())
      await test.context.journal(sessionId).append({
        atMs: 1,
        sessionId,
        type: "engine",
        record: {
          ...{ v: 1, type: "batch", id: `b${number}`, step: "prune", reason: "pays", at: 1 },
          ...{ tokensBefore: 2, tokensAfter: 1, edits: [{ edit, savedTokens: 1, handle: "h" }] },
        },
      });
    const [, sent] = await load(test).send(whole);
    const tools = sent?.parts.filter(({ type }) => type === "tool");
    expect(sent?.parts.map(({ type }) => type)).toEqual(
      first?.parts.map(({ type }) => type).filter((_, place) => place !== text),
    );
    expect(tools).toHaveLength(1);
    const before = first?.parts[index]?.state as object;
    expect(tools?.[0]?.state).toEqual({ ...before, output: "lines" });
  });
});

const undoIn = (pruning: PruneWindow) => pruning.undo(SESSION);

describe("pruning with something broken", () => {
  it("still edits when the journal cannot be written", async () => {
    const test = createTestContext({ options: PRUNING });
    writeFileSync(test.context.folders.journal, "not a folder");
    const { send, failures } = load(test);
    expect(prunedIn(await send(CONVERSATION))).toHaveLength(3);
    expect(failures).toEqual([]);
  });

  it("changes nothing and says so when it fails in the middle, and works again afterwards", async () => {
    const test = createTestContext({ options: PRUNING });
    let isBroken = true;
    const context = {
      ...test.context,
      now: () => {
        if (isBroken) throw new Error("no clock");
        return 10;
      },
    };
    const { send, failures } = load({ ...test, context });
    expect(await send(CONVERSATION)).toEqual(CONVERSATION);
    expect(failures).toMatchObject([{ feature: "pruning", handler: "beforeRequest" }]);
    isBroken = false;
    expect(prunedIn(await send(CONVERSATION))).toHaveLength(3);
  });

  it.each([[[]], [[null]], [[{ info: {}, parts: [] }]], [[{ info: { sessionID: SESSION }, parts: [] }]]])(
    "passes %j through",
    async (messages) => {
      const { send } = load(createTestContext({ options: PRUNING }));
      expect(await send(messages as never)).toEqual(messages);
    },
  );

  it("works where the store is gone meanwhile", async () => {
    const test = createTestContext({ options: PRUNING });
    const { send } = load(test);
    await send(CONVERSATION);
    rmSync(test.folder, { recursive: true, force: true });
    writeFileSync(test.folder, "");
    chmodSync(test.folder, 0o400);
    expect(prunedIn(await send(CONVERSATION))).toHaveLength(3);
  });
});
