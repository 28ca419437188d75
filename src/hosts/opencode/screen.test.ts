import { expect, it } from "vitest";
import type { SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import { withoutShown } from "../../formats/wires/opencode/decode-messages.ts";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import type { ShownPiece } from "../../plugin/host/host-parts.ts";
import { createScreen } from "./screen.ts";

const tool = (callID: string) =>
  ({
    type: "tool",
    id: `prt_${callID}`,
    callID,
    tool: "fork",
    state: { status: "running", input: {} },
  }) as const;

/** A session of one turn, in which the first answer called two tools. */
function startScreen({
  revert,
  parentID,
  attendance = "attended",
}: {
  revert?: object;
  parentID?: string;
  attendance?: "attended" | "headless";
} = {}) {
  const messages = [
    { info: { id: "msg_1", role: "user" }, parts: [{ type: "text", text: "Fork." }] },
    { info: { id: "msg_2", role: "assistant" }, parts: [tool("call_1"), tool("call_2")] },
    { info: { id: "msg_3", role: "assistant" }, parts: [{ type: "text", text: "Forked." }] },
  ] as unknown as SessionMessage[];
  const patched: Record<string, unknown>[] = [];
  const asked: string[] = [];
  const screen = createScreen(
    {
      async call(method, path, body) {
        asked.push(`${method} ${path}`);
        if (method === "GET" && path.includes("/message")) return { status: "ok", body: messages };
        if (method === "GET") return { status: "ok", body: { id: "ses_1", revert, parentID } };
        if (method === "PATCH") patched.push(body as Record<string, unknown>);
        return { status: "ok", body: true };
      },
    },
    attendance,
  );
  return { screen, messages, patched, asked };
}

const CHILD = {
  type: "child",
  sessionId: "ses_1",
  key: "fork fk_1",
  callId: "call_1",
  name: "fork 1",
  text: "tests · 2 calls",
  childSessionId: "ses_2",
  state: "running",
} as const satisfies ShownPiece;

it("a child is drawn as OpenCode's own sub-agents, in the answer that called for it, and stays the same part", async () => {
  const { screen, patched } = startScreen();
  expect(await screen.show(CHILD)).toBe("shown");
  await screen.show({ ...CHILD, state: "ended" });
  expect(patched).toMatchObject([
    {
      messageID: "msg_2",
      type: "tool",
      tool: "task",
      state: { status: "running", metadata: { sessionId: "ses_2" } },
    },
    { id: patched[0]?.id, state: { status: "completed", input: { description: "tests · 2 calls" } } },
  ]);
});

it("a text stands in the newest answer, a line below its call, and what was shown before a restart is found again", async () => {
  const { screen, patched, messages } = startScreen();
  await screen.show({ type: "text", sessionId: "ses_1", key: "result", text: "Done." });
  await screen.show({
    type: "line",
    sessionId: "ses_1",
    key: "cut",
    callId: "call_2",
    label: "cut",
    text: "kept 4 KB",
  });
  expect(patched).toMatchObject([
    { messageID: "msg_3", type: "text", text: "\n\nDone." },
    { messageID: "msg_2", tool: "carryover", state: { input: { cut: "kept 4 KB" } } },
  ]);
  const again = startScreen();
  again.messages.push({
    info: { id: "msg_4", role: "assistant" },
    parts: [patched[0]],
  } as unknown as SessionMessage);
  await again.screen.show({ type: "text", sessionId: "ses_1", key: "result", text: "Done." });
  expect(again.patched[0]).toMatchObject({ id: patched[0]?.id, messageID: "msg_4" });
  expect(messages).toHaveLength(3);
});

it("an answer without a call gets no tool part: OpenCode would ask the model again", async () => {
  const { screen, patched } = startScreen();
  await screen.show({
    type: "line",
    sessionId: "ses_1",
    key: "ask",
    label: "permission",
    text: "Fork 1 asks",
  });
  expect(patched).toMatchObject([
    { messageID: "msg_3", type: "text", text: "\n\n*permission: Fork 1 asks*" },
  ]);
});

it("a sub-agent's last text stays its own, since that is its result", async () => {
  const { screen, patched } = startScreen({ parentID: "ses_0" });
  expect(await screen.show({ type: "text", sessionId: "ses_1", key: "result", text: "Done." })).toBe(
    "not-shown",
  );
  expect(await screen.show(CHILD)).toBe("shown");
  expect(patched).toMatchObject([{ tool: "task" }]);
});

it.each([
  { name: "after an undo", options: { revert: { messageID: "msg_1" } } },
  { name: "in opencode run", options: { attendance: "headless" as const } },
])("$name nothing is written", async ({ options }) => {
  const { screen, patched } = startScreen(options);
  expect(await screen.show(CHILD)).toBe("not-shown");
  expect(patched).toEqual([]);
});

it("no request holds what is shown, and no transcript counts it", async () => {
  const { screen, patched, messages } = startScreen();
  await screen.show(CHILD);
  await screen.show({ type: "text", sessionId: "ses_1", key: "result", text: "Done." });
  const [line, text] = patched as unknown as SessionMessage["parts"];
  if (line === undefined || text === undefined) throw new Error("nothing was shown");
  const before = structuredClone(messages);
  const shown = messages.map((message, index) =>
    index === 0 ? message : { ...message, parts: [...message.parts, index === 1 ? line : text] },
  );
  const kinds = opencode.decode(shown).map(({ parts }) => parts.map(({ type }) => type));
  expect(kinds).toEqual([["text"], ["tool", "tool", "opaque"], ["text", "opaque"]]);
  expect(withoutShown(shown)).toEqual(before);
  // Wherever it stands, the places of the others are those that they have in requests.
  const first = messages.map((message) => ({ ...message, parts: [line, ...message.parts] }));
  const sent = opencode.decode(before);
  for (const [index, { parts }] of opencode.decode(first).entries())
    expect(parts.slice(0, -1)).toEqual(sent[index]?.parts);
  expect(opencode.apply(first, [], { at: 1 })).toEqual(first);
});
