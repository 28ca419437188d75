import { describe, expect, it } from "vitest";
import { transcript } from "../../test/rig/notation.ts";
import { redactTranscript } from "../stages/redact.ts";
import type { Message } from "../transcript/message.ts";
import { forkContext } from "./fork.ts";

describe("the files in the preamble of a child", () => {
  const done = (tool: string, input: unknown): Message => ({
    id: `${tool}-${JSON.stringify(input)}`,
    role: "assistant",
    parts: [
      { type: "tool", callId: tool, tool, input, outcome: { status: "done", output: "ok", attachments: [] } },
    ],
  });
  const work = [
    done("write", { filePath: "/w/new.ts", content: "x" }),
    done("edit", { filePath: "/w/old.ts", oldString: "a", newString: "b" }),
    done("bash", { command: "rm /w/gone.ts" }),
    ...transcript("u:10 a(bash:90000) a(bash:90000) u:5"),
  ];

  it("are those that the whole conversation created, changed and deleted, where something was left out", () => {
    const { preamble } = forkContext(work, { budgetChars: 20_000 });
    expect(preamble).toContain(
      "Files created: /w/new.ts\nFiles changed: /w/old.ts\nFiles deleted: /w/gone.ts",
    );
    expect(forkContext(work, { budgetChars: 500_000 }).preamble).not.toContain("Files created");
    expect(forkContext(work, { budgetChars: 20_000, profile: "documented" }).preamble).not.toContain(
      "Files created",
    );
  });

  it("go on from what an earlier compaction carried", () => {
    const carried = {
      generation: 1,
      userWords: [],
      pins: [],
      filesRead: [],
      filesChanged: ["/w/before.ts"],
      keyFacts: [],
    };
    const summary: Message = {
      id: "s",
      role: "user",
      parts: [{ type: "text", text: "summed up", synthetic: true }],
      metadata: { kind: "compaction_summary", carried },
    };
    expect(forkContext([summary, ...work], { budgetChars: 20_000 }).preamble).toContain(
      "Files changed: /w/before.ts, /w/old.ts",
    );
  });
  it("are the newest that fit into a twentieth of the budget, and into 4,000 characters", () => {
    const many = Array.from({ length: 400 }, (_, number) =>
      done("write", { filePath: `/w/${"folder/".repeat(5)}${1000 + number}.ts`, content: "x" }),
    );
    const listed = (budgetChars: number): readonly string[] =>
      forkContext([...many, ...work], { budgetChars }).preamble.match(/\/w\/[^,\s]+/g) ?? [];
    const chars = (budgetChars: number): number => listed(budgetChars).join(", ").length;
    expect(chars(20_000)).toBeGreaterThan(900);
    expect(chars(20_000)).toBeLessThanOrEqual(1_000);
    expect(chars(150_000)).toBeGreaterThan(3_900);
    expect(chars(150_000)).toBeLessThanOrEqual(4_000);
    expect(listed(20_000)).toContain("/w/new.ts");
    expect(listed(20_000).at(0)).not.toContain("1000.ts");
  });

  it("name no secret where secrets are taken out", () => {
    const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    const named = [done("write", { filePath: `/w/${secret}.ts`, content: "x" }), ...work];
    const preambleOf = (redact?: ReturnType<typeof redactTranscript>): string =>
      forkContext(named, { budgetChars: 20_000, ...(redact && { redact }) }).preamble;
    expect(preambleOf()).toContain(secret);
    expect(preambleOf(redactTranscript())).toMatch(/Files created: \/w\/(?!ghp_)\S+/);
    expect(preambleOf(redactTranscript())).not.toContain(secret);
  });
});

describe("the task of a fork", () => {
  it("keeps the lines with its identifiers", () => {
    const line = (step: number, row: number): string =>
      step === 3 && row === 57 ? "step 3 calls foldWingTip(57)" : `step ${step} says ${row} of it`;
    const history = Array.from({ length: 40 }, (_, step): Message => {
      const output = Array.from({ length: 100 }, (__, row) => line(step, row)).join("\n");
      const outcome = { status: "done", output, attachments: [] } as const;
      const call = {
        type: "tool",
        callId: `c${step}`,
        tool: "bash",
        input: { command: `make ${step}` },
      } as const;
      return { id: `a${step}`, role: "assistant", parts: [{ ...call, outcome }] };
    });
    const textFor = (options = {}): string => forkContext(history, { budgetChars: 10_000, ...options }).text;
    expect(textFor()).not.toContain("foldWingTip");
    expect(textFor({ task: "Find out what foldWingTip does." })).toContain("foldWingTip(57)");
  });
});
