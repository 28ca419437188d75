import { describe, expect, it } from "vitest";
import { createTestContext, hooksOf, type TestContext } from "../../../test/rig/plugin-context.ts";
import type { SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import type { Feature } from "../context/context.ts";
import { createThoughtKeeper } from "./thoughts.ts";

const SESSION = "ses_1";
const MODEL = { providerID: "anthropic", modelID: "claude-opus-5-5" };

/** An agent whose provider binds thoughts: what stood before each is written in it. */
function startAgent(test: TestContext, inherited: "unchanged" | "changed" | "nothing" = "nothing") {
  const keeper = createThoughtKeeper({ context: test.context, inherited: async () => inherited });
  let shortened: readonly string[] = [];
  /** Edits as pruning does: some outputs are shorter than they were. */
  const edits: Feature = {
    name: "edits",
    beforeRequest: async ({ messages }) =>
      messages.map((message) => shorten(message as SessionMessage, shortened)),
  };
  const hooks = hooksOf([keeper.watch, edits, keeper.feature]);
  const messages: SessionMessage[] = [user("u1")];
  async function send(): Promise<readonly SessionMessage[]> {
    const list = structuredClone(messages);
    await hooks["experimental.chat.messages.transform"]?.({}, { messages: list });
    return list;
  }
  return {
    keeper: keeper.feature,
    messages,
    send,
    shorten(...ids: readonly string[]) {
      shortened = ids;
    },
    /** One request and its answer; gives the thoughts that were sent, and those of them that are refused. */
    async step(id: string) {
      const list = await send();
      messages.push(answer(id, prefixOf(list)));
      const thoughts = list.flatMap(({ info, parts }, index) =>
        parts.filter(({ type }) => type === "reasoning").map(({ text }) => ({ id: info.id, text, index })),
      );
      return {
        sent: thoughts.map(({ id }) => id),
        refused: thoughts
          .filter(({ text, index }) => text !== prefixOf(list.slice(0, index)))
          .map(({ id }) => id),
      };
    },
  };
}

function user(id: string): SessionMessage {
  return {
    info: { id, sessionID: SESSION, role: "user", time: { created: 1 }, model: MODEL },
    parts: [{ id: `${id}-1`, sessionID: SESSION, messageID: id, type: "text", text: "Go on." }],
  } as SessionMessage;
}

function answer(id: string, bound: string): SessionMessage {
  const ids = { sessionID: SESSION, messageID: id };
  const time = { start: 1, end: 2 };
  const output = `what ${id} printed\n`.repeat(40);
  const state = { status: "completed", input: { command: id }, output, title: "", metadata: {}, time };
  return {
    info: {
      id,
      sessionID: SESSION,
      role: "assistant",
      finish: "tool-calls",
      ...MODEL,
      time: { created: 1, completed: 2 },
    },
    parts: [
      {
        id: `${id}-1`,
        ...ids,
        type: "reasoning",
        text: bound,
        time,
        metadata: { anthropic: { signature: id } },
      },
      { id: `${id}-2`, ...ids, type: "tool", callID: id, tool: "bash", state },
    ],
  } as SessionMessage;
}

function shorten(message: SessionMessage, ids: readonly string[]): SessionMessage {
  if (!ids.includes(String(message.info.id))) return message;
  const parts = message.parts.map((part) =>
    part.type === "tool" ? { ...part, state: { ...(part.state as object), output: "short" } } : part,
  );
  return { ...message, parts } as SessionMessage;
}

function prefixOf(messages: readonly SessionMessage[]): string {
  return JSON.stringify(
    messages.map(({ parts }) =>
      parts.flatMap((part) => (part.type === "reasoning" ? [] : [part.text ?? part.state])),
    ),
  );
}

describe("thoughts in an agent", () => {
  it("leave behind an edit, stay before it and after it, also after a restart and when it is taken back", async () => {
    const first = createTestContext();
    const agent = startAgent(first);
    for (const id of ["a1", "a2", "a3"]) expect((await agent.step(id)).refused).toEqual([]);
    agent.shorten("a1");
    expect(await agent.step("a4")).toEqual({ sent: ["a1"], refused: [] });
    expect(await agent.step("a5")).toEqual({ sent: ["a1", "a4"], refused: [] });
    await expect.poll(async () => (await first.entries(SESSION)).length).toBe(5);

    const again = startAgent(createTestContext({ store: first.folder }));
    again.messages.push(...agent.messages.slice(1));
    again.shorten("a1");
    expect(await again.step("a6")).toEqual({ sent: ["a1", "a4", "a5"], refused: [] });
    again.shorten();
    expect(await again.step("a7")).toEqual({ sent: ["a1", "a2", "a3"], refused: [] });
    expect(await again.step("a8")).toEqual({ sent: ["a1", "a2", "a3", "a7"], refused: [] });
  });

  it("from before the plugin was there are left out: they were made with other tools", async () => {
    const agent = startAgent(createTestContext());
    agent.messages.push(answer("b1", "something else"), answer("b2", "something else"));
    expect(await agent.step("a1")).toEqual({ sent: [], refused: [] });
    expect(await agent.step("a2")).toEqual({ sent: ["a1"], refused: [] });
  });

  it.each([
    ["unchanged", ["b1"]],
    ["changed", []],
  ] as const)("of a parent whose last request is %s for a child: %j", async (inherited, sent) => {
    const agent = startAgent(createTestContext(), inherited);
    agent.messages.push(answer("b1", prefixOf(agent.messages)));
    expect(await agent.step("a1")).toEqual({ sent, refused: [] });
  });

  it("are all left out after a refusal that the agent tells, and those made since stay", async () => {
    const test = createTestContext();
    const agent = startAgent(test);
    for (const id of ["a1", "a2"]) await agent.step(id);
    const message =
      "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.";
    await agent.keeper.onSignal?.({
      type: "failed",
      sessionId: SESSION,
      error: { kind: "APIError", message },
    });
    expect((await agent.step("a3")).sent).toEqual([]);
    expect((await agent.step("a4")).sent).toEqual(["a3"]);
    expect(test.logged.join()).toContain("none is sent again");
  });

  it.each([
    [[], ["a1", "a2", "b1", "b2"]],
    [["a2"], ["a1", "a2"]],
    [["b1"], ["a1", "a2", "b1"]],
  ])(
    "made while we were away are bound to what the agent sent by itself: with %j edited now %j",
    async (edited, sent) => {
      const first = createTestContext();
      const agent = startAgent(first);
      for (const id of ["a1", "a2"]) await agent.step(id);
      for (const id of ["b1", "b2"]) agent.messages.push(answer(id, prefixOf(agent.messages)));
      await expect.poll(async () => (await first.entries(SESSION)).length).toBe(2);
      const again = startAgent(createTestContext({ store: first.folder }));
      again.messages.push(...agent.messages.slice(1));
      again.shorten(...edited);
      expect(await again.step("a3")).toEqual({ sent, refused: [] });
      expect(await again.step("a4")).toEqual({ sent: [...sent, "a3"], refused: [] });
    },
  );

  it("leave where the agent names another head: other tools or another prompt, also after a restart", async () => {
    const first = createTestContext();
    const messages = [user("u1")];
    const model = { provider: MODEL.providerID, id: MODEL.modelID };
    const send = async (test: TestContext, head: string): Promise<readonly unknown[]> => {
      const keeper = createThoughtKeeper({ context: test.context, inherited: async () => "nothing" });
      const request = { sessionId: SESSION, messages: structuredClone(messages), model, head };
      await keeper.watch.beforeRequest?.(request);
      const sent = (await keeper.feature.beforeRequest?.(request)) ?? request.messages;
      messages.push(answer(`a${messages.length}`, ""));
      return (sent as readonly SessionMessage[])
        .filter(({ parts }) => parts.some(({ type }) => type === "reasoning"))
        .map(({ info }) => info.id);
    };
    const again = async (head: string) => {
      const count = (await first.entries(SESSION)).length;
      const sent = await send(createTestContext({ store: first.folder }), head);
      await expect.poll(async () => (await first.entries(SESSION)).length).toBe(count + 1);
      return sent;
    };
    expect(await again("one")).toEqual([]);
    expect(await again("one")).toEqual(["a1"]);
    expect(await again("other")).toEqual([]);
    expect(await again("other")).toEqual(["a3"]);
  });

  it("of a model that does not bind them are nobody's business", async () => {
    const agent = startAgent(createTestContext());
    agent.messages.splice(0, 1, {
      ...user("u1"),
      info: { ...user("u1").info, model: { providerID: "anthropic", modelID: "claude-opus-4-6" } },
    } as SessionMessage);
    for (const id of ["a1", "a2"]) await agent.step(id);
    agent.shorten("a1");
    expect((await agent.step("a3")).sent).toEqual(["a1", "a2"]);
  });
});
