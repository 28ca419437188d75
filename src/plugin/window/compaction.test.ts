import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTestContext, hooksOf } from "../../../test/rig/plugin-context.ts";
import { SECRETS_RULE } from "../../compaction/summary/request.ts";
import type { SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import type { FeatureFailure } from "../combine-features.ts";
import { createLastRequests } from "../stores/last-sent.ts";
import { createCompactionContext } from "./compaction.ts";
import { createModelWindows } from "./model-windows.ts";
import { createPinnedTexts } from "./pins.ts";

const SESSION = "ses_1";
const MESSAGES = [
  {
    info: { id: "u1", sessionID: SESSION, role: "user" },
    parts: [{ type: "text", text: "The port is 4711. #pin" }],
  },
  {
    info: { id: "a1", sessionID: SESSION, role: "assistant" },
    parts: [
      {
        type: "tool",
        tool: "bash",
        callID: "c1",
        state: {
          status: "completed",
          input: { command: "npm test" },
          output: "TypeError: nothing to see",
          time: { start: 1, end: 2, compacted: 3 },
        },
      },
    ],
  },
];

async function ask(
  options: Readonly<Record<string, unknown>>,
  { isBroken = false, messages = MESSAGES }: { isBroken?: boolean; messages?: readonly object[] } = {},
) {
  const { context, folder } = createTestContext({ options });
  mkdirSync(join(folder, "docs"));
  writeFileSync(join(folder, "docs", "RULES.md"), "Never touch vendor.");
  const capture = createLastRequests();
  capture.see({ sessionId: SESSION, messages }, 1);
  const lastSent = (): never => {
    throw new Error("broken");
  };
  const failures: FeatureFailure[] = [];
  const hooks = hooksOf(
    [
      createCompactionContext({
        context,
        pins: createPinnedTexts(context.options.pin),
        windows: createModelWindows(context.options),
        inheritedFrom: async () => undefined,
        capture: isBroken ? { ...capture, lastSent } : capture,
      }),
    ],
    (failure) => void failures.push(failure),
  );
  const output = { context: ["the host's own"] };
  await hooks["experimental.session.compacting"]?.({ sessionID: SESSION }, output);
  return { output, failures };
}

it("adds what is pinned: files, texts and marked messages", async () => {
  const { output } = await ask({ pin: ["RULES.md", "a text"] });
  expect(output.context).toHaveLength(2);
  expect(output).not.toHaveProperty("prompt");
  expect(output.context[1]).toContain("Never touch vendor.");
  expect(output.context[1]).toContain("a text");
  expect(output.context[1]).toContain("The port is 4711.");
  expect(output.context[1]).not.toContain("TypeError");
});

it.each([{}, { compaction: "host-with-facts" }, { pin: ["a text"] }])(
  "adds the rule about secrets with %j",
  async (options) => {
    expect((await ask(options)).output.context[1]).toContain(SECRETS_RULE);
  },
);

it("adds the rule about secrets where nothing is pinned", async () => {
  expect((await ask({}, { messages: [] })).output.context).toEqual(["the host's own", SECRETS_RULE]);
});

it("adds the facts with host-with-facts, and nothing that a tool printed", async () => {
  const { output } = await ask({ compaction: "host-with-facts" });
  expect(output.context[1]).not.toContain("TypeError");
  expect(output.context[1]).toContain("The port is 4711.");
  expect(output).not.toHaveProperty("prompt");
});

it.each([{ compaction: "off" }, { profile: "documented", compaction: "off" }])(
  "adds nothing with %j",
  async (options) => {
    expect((await ask({ ...options, pin: ["a text"] })).output.context).toEqual(["the host's own"]);
  },
);

it.each([{}, { compaction: "host-with-facts" }, { compaction: "local" }])(
  "adds the rule about secrets and nothing else in the documented profile, with %j (003)",
  async (options) => {
    const { output } = await ask({ ...options, profile: "documented", pin: ["a text"] });
    expect(output).toEqual({ context: ["the host's own", SECRETS_RULE] });
  },
);

it("adds nothing when it fails", async () => {
  const { output, failures } = await ask({ compaction: "host-with-facts" }, { isBroken: true });
  expect(output.context).toEqual(["the host's own"]);
  expect(failures).toMatchObject([{ feature: "compaction" }]);
});

/** What the host sends after a compaction, whose summary says what it likes. */
function compactedMessages(summary: string): SessionMessage[] {
  const text = (id: string, role: string, said: string, rest = {}): SessionMessage => ({
    info: { id, sessionID: SESSION, role, ...rest },
    parts: [{ type: "text", text: said }],
  });
  return [
    { info: { id: "m", sessionID: SESSION, role: "user" }, parts: [{ type: "compaction", auto: true }] },
    text("s", "assistant", summary, { summary: true, finish: "stop", parentID: "m" }),
    text("u9", "user", "go on"),
  ];
}

async function send(options: Readonly<Record<string, unknown>>, summary: string, times = 1) {
  const { context, folder } = createTestContext({ options, answer: { status: "ok", body: MESSAGES } });
  writeFileSync(join(folder, "RULES.md"), "Never touch vendor.\r\nUser:\n");
  const hooks = hooksOf([
    createCompactionContext({
      context,
      pins: createPinnedTexts(context.options.pin),
      windows: createModelWindows(context.options),
      inheritedFrom: async () => undefined,
      capture: createLastRequests(),
    }),
  ]);
  const sent: SessionMessage[][] = [];
  for (let time = 0; time < times; time++) {
    const output = { messages: compactedMessages(summary) };
    await hooks["experimental.chat.messages.transform"]?.({}, output);
    sent.push(output.messages);
  }
  return sent;
}

it("restores what a summary left out of the pins, the same in every request", async () => {
  const [first, second] = await send({ pin: ["Never push."] }, "So far nothing.", 2);
  const text = String(first?.[1]?.parts[0]?.text);
  expect(text).toMatch(/^So far nothing\.\n/);
  expect(text).toContain("<pinned>\nNever push.\n\nThe port is 4711. #pin\n</pinned>");
  expect(second).toEqual(first);
  expect(first?.[2]).toEqual(compactedMessages("")[2]);
});

it.each([
  { name: "has an empty text", parts: [{ type: "text", text: "" }] },
  { name: "has no text at all", parts: [] },
])("puts the pins back where the summary $name", async ({ parts }) => {
  const { context } = createTestContext({ answer: { status: "ok", body: MESSAGES } });
  const hooks = hooksOf([
    createCompactionContext({
      context,
      pins: createPinnedTexts([]),
      windows: createModelWindows(context.options),
      capture: createLastRequests(),
      inheritedFrom: async () => undefined,
    }),
  ]);
  const messages = compactedMessages("").map((message, index) =>
    index === 1 ? { ...message, parts } : message,
  ) as SessionMessage[];
  const sent = [];
  for (let time = 0; time < 2; time++) {
    const output = { messages: [...messages] };
    await hooks["experimental.chat.messages.transform"]?.({}, output);
    sent.push(output.messages);
  }
  const texts = sent[0]?.flatMap((message) => message.parts.flatMap(({ text }) => text ?? []));
  expect(texts).toEqual([expect.stringMatching(/The port is 4711\. #pin\n<\/pinned>$/), "go on"]);
  expect(sent[1]).toEqual(sent[0]);
});

it("restores marks without the option, and nothing that the summary holds", async () => {
  const [sent] = await send({}, "Nothing.");
  expect(String(sent?.[1]?.parts[0]?.text)).toContain("<pinned>\nThe port is 4711. #pin\n</pinned>");
  const [kept] = await send({ pin: ["Never push."] }, "Never push. The port is 4711. #pin");
  expect(kept).toEqual(compactedMessages("Never push. The port is 4711. #pin"));
});

it("puts nothing back of a file that the summary holds as it was asked for", async () => {
  const options = { pin: ["RULES.md"] };
  const asked = String((await send(options, "Nothing."))[0]?.[1]?.parts[0]?.text).replaceAll("\r", "");
  const [, pinned = ""] = /<pinned>\n([\s\S]+)\n<\/pinned>/.exec(asked) ?? [];
  expect(pinned).toContain("RULES.md:\nNever touch vendor.\nUser&#58;");
  const [sent] = await send(options, `So far:\n${pinned}\nThat is all.`);
  expect(sent).toEqual(compactedMessages(`So far:\n${pinned}\nThat is all.`));
});

it.each([{ compaction: "off" }, { profile: "documented" }])("puts nothing back with %j", async (options) => {
  expect((await send({ ...options, pin: ["Never push."] }, "Nothing."))[0]).toEqual(
    compactedMessages("Nothing."),
  );
});

it("asks for a pin also where the host no longer sends its message", async () => {
  const { context } = createTestContext({ answer: { status: "ok", body: MESSAGES } });
  const capture = createLastRequests();
  capture.see({ sessionId: SESSION, messages: compactedMessages("Nothing.") }, 1);
  const windows = createModelWindows(context.options);
  const hooks = hooksOf([
    createCompactionContext({
      context,
      pins: createPinnedTexts([]),
      windows,
      capture,
      inheritedFrom: async () => undefined,
    }),
  ]);
  const output = { context: [] as string[] };
  await hooks["experimental.session.compacting"]?.({ sessionID: SESSION }, output);
  expect(output.context[0]).toContain("The port is 4711. #pin");
});

it("restores what a fork's parent had pinned before it, in the child's own compactions too", async () => {
  const at = (id: string, created: number, text: string): object => ({
    info: { id, sessionID: "parent", role: "user", time: { created } },
    parts: [{ type: "text", text }],
  });
  const bodies: Readonly<Record<string, readonly object[]>> = {
    parent: [at("p1", 1, "Before the fork. #pin"), at("p2", 9, "Behind it. #pin")],
    [SESSION]: [at("c1", 5, "Do it.")],
  };
  const sessionIn = (path: string): string => path.split("/")[2] ?? "";
  const calls = {
    call: async (_: string, path: string) => ({ status: "ok" as const, body: bodies[sessionIn(path)] }),
  };
  const { context } = createTestContext({ calls });
  const hooks = hooksOf([
    createCompactionContext({
      context,
      pins: createPinnedTexts([]),
      windows: createModelWindows(context.options),
      capture: createLastRequests(),
      inheritedFrom: async (id) => (id === SESSION ? "parent" : undefined),
    }),
  ]);
  const output = { messages: compactedMessages("Nothing.") };
  await hooks["experimental.chat.messages.transform"]?.({}, output);
  expect(String(output.messages[1]?.parts[0]?.text)).toMatch(/<pinned>\nBefore the fork\. #pin\n<\/pinned>$/);
});
