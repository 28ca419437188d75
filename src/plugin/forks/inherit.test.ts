import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import type { SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import { messageFormat } from "../../hosts/opencode/messages.ts";
import { opencodeTools } from "../../hosts/opencode/tools.ts";
import { createAnswerFacts } from "../../hosts/opencode2/answer-facts.ts";
import { createMessageFormat } from "../../hosts/opencode2/messages.ts";
import { type InheritInput, inherit } from "./inherit.ts";
import { taskText } from "./task-text.ts";

const SECRET = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;

describe("what a child inherits", () => {
  it("is the last request itself when full", async () => {
    const messages = conversation(3);
    const inherited = await inherit(input({ setting: "full", messages }));
    expect(inherited).toMatchObject({ mode: "full", messages, messageCount: 6 });
    expect(inherited).toHaveProperty(
      "preamble",
      expect.stringContaining("all its messages as they were sent. Nothing was left out for you."),
    );
    expect(inherited).not.toHaveProperty("preamble", expect.stringMatching(/re-read|recall/));
  });

  it("has old outputs cut and no fault of any provider when trimmed", async () => {
    const inherited = await inherit(
      input({ setting: "trimmed", budgetChars: 30_000, messages: conversation(20) }),
    );
    if (inherited.mode !== "trimmed") throw new Error(inherited.mode);
    expect(opencode.faults(wireOf(inherited.messages))).toEqual([]);
    expect(wireOf(inherited.messages)[0]?.info.role).toBe("user");
    expect(JSON.stringify(inherited.messages[1]).length).toBeLessThan(1_500);
    expect(inherited.preamble).toContain("What is missing can be read with the tool recall.");
  });

  it("has the parent's system prompt and tools where agent and model are the same, however it inherits", async () => {
    const messages = conversation(3);
    const lastRequest = { messages, ageMs: 0, promptHead: { system: ["You are."] } };
    const facts = { ...FACTS, receiver: "other-agent" } as const;
    for (const setting of ["full", "trimmed"] as const) {
      const { promptHead } = lastRequest;
      expect(await inherit(input({ setting, messages, lastRequest }))).toHaveProperty(
        "promptHead",
        promptHead,
      );
      expect(await inherit(input({ setting, messages, lastRequest, facts }))).not.toHaveProperty(
        "promptHead",
      );
    }
  });

  it("begins with a user message when the parent was compacted", async () => {
    const marker: SessionMessage = {
      info: { id: "m", role: "user" },
      parts: [{ type: "compaction", auto: true }],
    };
    const summary: SessionMessage = {
      info: { id: "s", role: "assistant", parentID: "m", summary: true, finish: "stop" },
      parts: [{ type: "text", text: "SUMMARY" }],
    };
    const messages = [marker, summary, ...conversation(1)];
    const inherited = await inherit(input({ setting: "trimmed", messages }));
    if (inherited.mode !== "trimmed") throw new Error(inherited.mode);
    expect(wireOf(inherited.messages).map(({ info }) => info.role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    expect(JSON.stringify(inherited.messages[1])).toContain("SUMMARY");
  });

  it("has the same bytes whenever it is prepared", async () => {
    const make = async () =>
      JSON.stringify(await inherit(input({ setting: "trimmed", messages: conversation(20) })));
    expect(await make()).toBe(await make());
  });

  it("has no secrets when the child runs at another provider", async () => {
    const messages = conversation(2, `token ${SECRET} of corp-4711`);
    const inherited = await inherit(input({ messages, facts: { ...FACTS, receiver: "other-provider" } }));
    expect(inherited.mode).toBe("trimmed");
    expect(JSON.stringify(inherited)).not.toContain(SECRET);
    expect(JSON.stringify(inherited)).not.toContain("corp-4711");
  });

  it("has no thought of the parent where the child's model would refuse it", async () => {
    const messages = [
      { role: "user", content: [{ type: "text", text: "Go." }] },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "s" } } },
          { type: "tool-call", id: "c", name: "read", input: {} },
        ],
      },
      {
        role: "tool",
        content: [{ type: "tool-result", id: "c", name: "read", result: { type: "text", value: "ok" } }],
      },
    ];
    const format = createMessageFormat(createAnswerFacts());
    const inheritedBy = async (id: string, setting: "trimmed" | "full") =>
      JSON.stringify(
        await inherit({
          ...input({ setting, messages: [], model: { provider: "anthropic", id } }),
          format,
          lastRequest: { messages, ageMs: 0 },
        }),
      );
    expect(await inheritedBy("claude-opus-5-5", "trimmed")).not.toContain("Hm.");
    expect(await inheritedBy("claude-opus-4-6", "trimmed")).toContain("Hm.");
    expect(await inheritedBy("claude-opus-5-5", "full")).toContain("Hm.");
  });

  it("is nothing, with the reason, when the parent cannot be read", async () => {
    const { lastRequest: _, ...blind } = input({ messages: [] });
    const inherited = await inherit({ ...blind, stored: () => Promise.reject(new Error("gone")) });
    expect(inherited).toEqual({ mode: "none", status: "failed", reason: "gone" });
    expect(taskText({ number: 1, task: "Go.", inherited, profile: "documented" })).toContain(
      "No context was inherited",
    );
  });

  it("is nothing when the parent has said nothing", async () => {
    expect(await inherit(input({ messages: [] }))).toMatchObject({ mode: "none", status: "empty" });
  });
});

describe("the files that a call writes", () => {
  it.each([
    { tool: "write", args: { filePath: "a.txt" }, files: ["a.txt"] },
    { tool: "edit", args: { filePath: "/x/b.ts" }, files: ["/x/b.ts"] },
    { tool: "read", args: { filePath: "a.txt" }, files: [] },
    { tool: "write", args: null, files: [] },
    {
      tool: "apply_patch",
      args: { patchText: "*** Begin Patch\n*** Update File: a.ts\n@@\n-x\n+y\n*** Add File: b.ts\n+z\n" },
      files: ["a.ts", "b.ts"],
    },
  ])("of $tool are $files", ({ tool, args, files }) => {
    expect(opencodeTools.writtenFiles(tool, args)).toEqual(files);
  });
});

const wireOf = (messages: readonly object[]) => messages as readonly SessionMessage[];

const FACTS: InheritInput["facts"] = {
  receiver: "same",
  cacheReadPrice: 0.1,
  cacheWritePrice: 1.25,
  finishedSteps: [],
};

function input(
  change: Partial<InheritInput> & { readonly messages: readonly SessionMessage[] },
): InheritInput {
  const { messages, ...rest } = change;
  return {
    format: messageFormat,
    hasRecall: true,
    lastRequest: { messages, ageMs: 0 },
    stored: async () => messages,
    parentSessionId: "ses_1",
    task: "Look.",
    profile: "default",
    setting: "auto",
    model: { provider: "anthropic", id: "claude-opus-4-6" },
    redaction: { extraRules: [{ type: "own", pattern: /corp-\d+/g }] },
    facts: FACTS,
    ...rest,
  };
}

function conversation(turns: number, output = "grey ".repeat(800)): readonly SessionMessage[] {
  const messages = Array.from({ length: turns }, (_, turn): readonly SessionMessage[] => [
    {
      info: { id: `u${turn}`, role: "user", time: { created: turn } },
      parts: [{ type: "text", text: `Ask ${turn}` }],
    },
    {
      info: { id: `a${turn}`, role: "assistant", finish: "tool-calls", time: { created: turn } },
      parts: [
        { type: "reasoning", text: "Hm." },
        {
          type: "tool",
          tool: "bash",
          callID: `c${turn}`,
          state: {
            status: "completed",
            input: { command: "cat" },
            output,
            title: "",
            metadata: {},
            time: { start: 1, end: 2 },
          },
        },
      ],
    },
  ]);
  return deepFreeze(messages.flat());
}
