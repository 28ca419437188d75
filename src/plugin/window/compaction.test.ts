import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTestContext, hooksOf } from "../../../test/rig/plugin-context.ts";
import { SECRETS_RULE } from "../../compaction/summary/request.ts";
import type { FeatureFailure } from "../host/features.ts";
import { createViewCapture } from "../stores/views.ts";
import { createCompactionContext } from "./compaction.ts";
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
  const capture = createViewCapture();
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

it.each([{}, { compaction: "assist" }, { pin: ["a text"] }])(
  "adds the rule about secrets with %j",
  async (options) => {
    expect((await ask(options)).output.context[1]).toContain(SECRETS_RULE);
  },
);

it("adds the rule about secrets where nothing is pinned", async () => {
  expect((await ask({}, { messages: [] })).output.context).toEqual(["the host's own", SECRETS_RULE]);
});

it("adds the facts with assist, those of cleared outputs too", async () => {
  const { output } = await ask({ compaction: "assist" });
  expect(output.context[1]).toContain("TypeError: nothing to see");
  expect(output.context[1]).toContain("The port is 4711.");
  expect(output).not.toHaveProperty("prompt");
});

it.each([{ compaction: "off" }, { profile: "documented", compaction: "assist" }])(
  "adds nothing with %j",
  async (options) => {
    expect((await ask({ ...options, pin: ["a text"] })).output.context).toEqual(["the host's own"]);
  },
);

it("adds nothing when it fails", async () => {
  const { output, failures } = await ask({ compaction: "assist" }, { isBroken: true });
  expect(output.context).toEqual(["the host's own"]);
  expect(failures).toMatchObject([{ feature: "compaction" }]);
});
