import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import type { HostAnswer } from "../../hosts/opencode/host-calls.ts";
import { createForks } from "../forks/forks.ts";
import type { ShownPiece } from "../host/host-parts.ts";
import { createForkTool } from "./fork-tools.ts";

function createTool() {
  let calls = 0;
  // Each answer comes sooner than the one before.
  const call = async (): Promise<HostAnswer> => {
    await sleep(Math.max(0, 60 - 10 * calls++));
    return { status: "ok", body: {} };
  };
  const { context: plain } = createTestContext({ calls: { call } });
  const shown: ShownPiece[] = [];
  const context = { ...plain, show: (piece: ShownPiece) => void shown.push(piece) };
  const forks = createForks(context);
  const tool = createForkTool({ context, forks });
  const running = {
    sessionId: "ses_1",
    agent: "build",
    signal: new AbortController().signal,
    model: { provider: "p", id: "m" },
    setTitle: () => {},
    mayStart: async () => ({ status: "allowed" }) as const,
  };
  return {
    forks,
    shown,
    fork: (args: object, callId: string, messageId?: string) =>
      tool.execute(args, { ...running, callId, ...(messageId !== undefined && { messageId }) }),
  };
}

it("numbers forks in the order in which they were asked for", async () => {
  const { fork, forks } = createTool();
  await Promise.all(["one", "two", "three", "four"].map((prompt) => fork({ prompt }, prompt)));
  expect(forks.keeper.all().map(({ number, title }) => `${number} ${title}`)).toEqual([
    "1 one",
    "2 two",
    "3 three",
    "4 four",
  ]);
});

it("cuts a title that is too long, between characters, and takes its first line", async () => {
  const { fork, forks } = createTool();
  expect(await fork({ prompt: "Look.", title: `${"x".repeat(56)}😀 and so on, for ever` }, "a")).toContain(
    "Fork 1",
  );
  await fork({ prompt: "Look.", title: "One line\nand another" }, "b");
  expect(forks.keeper.all().map(({ title }) => title)).toEqual([`${"x".repeat(56)}...`, "One line"]);
});

it("tells a fork everything, though a server gives each call the same id", async () => {
  const { fork, forks } = createTool();
  await fork({ prompt: "Look." }, "call_0", "msg_1");
  for (const [prompt, messageId] of [
    ["Look there too.", "msg_2"],
    ["And there.", "msg_3"],
    ["And there.", "msg_3"],
  ] as const)
    expect(await fork({ prompt, resume: "1" }, "call_0", messageId)).toMatch(
      /^Fork 1 (?:was told|continues)/,
    );
  const [record] = forks.keeper.all();
  expect(record?.runs.flatMap(({ prompts }) => prompts.map(({ text }) => text))).toEqual([
    expect.stringContaining("Look."),
    "Look there too.",
    "And there.",
  ]);
});

it("starts nothing without a task", async () => {
  const { fork, forks } = createTool();
  expect(await fork({ prompt: " \n" }, "a")).toMatch(/^Nothing was done\./);
  expect(forks.keeper.all()).toEqual([]);
});

it.each([
  { name: "started", args: { prompt: "Look.", agent: "nobody" }, says: 'There is no agent "nobody".' },
  { name: "spoken to", args: { prompt: "Look.", resume: "7" }, says: 'There is no fork "7".' },
])("people see that no fork was $name, and why", async ({ args, says }) => {
  const { fork, shown } = createTool();
  const answer = await fork(args, "call_1");
  expect(answer).toContain(says);
  expect(shown).toMatchObject([{ type: "line", sessionId: "ses_1", callId: "call_1", text: answer }]);
});
