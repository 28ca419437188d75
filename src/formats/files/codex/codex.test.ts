import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate } from "../../../../test/rig/notation.ts";
import { filterCompacted } from "../../../stages/boundary.ts";
import { asObject, type UnknownObject } from "../../../text/json.ts";
import type { Edit } from "../../../transcript/edit.ts";
import { codex } from "./codex.ts";

function recorded(name: string): readonly UnknownObject[] {
  const file = new URL(`../../../../test/recordings/codex/${name}.jsonl`, import.meta.url);
  return deepFreeze(
    readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  );
}

describe("reading", () => {
  it("joins the items of an answer, and leaves out the turn that was rolled back", () => {
    expect(notate(codex.decode(recorded("rollout")))).toBe(
      "y:72 u:85 u:72 u:20 a:27(shell:30,shell:41) a(apply_patch:7) a:21 u:14 a:5 m s:89 u:13 a:8",
    );
  });

  it("gives what the agent goes on with after a compaction", () => {
    expect(notate(filterCompacted(codex.decode(recorded("rollout"))))).toBe("m s:89 u:13 a:8");
  });

  it("takes the count behind an answer for its usage", () => {
    expect(codex.decode(recorded("rollout"))[4]).toMatchObject({
      model: { provider: "openai", id: "gpt-5.4-codex" },
      usage: { inputTokens: 3000, cacheReadTokens: 6000, outputTokens: 120, reasoningTokens: 64 },
    });
  });

  it("reads the records of a paginated rollout, and what each answer has used", () => {
    const transcript = codex.decode(recorded("rollout-paginated"));
    expect(notate(transcript)).toBe(
      "y:13 u:19 a(exec_command:10) a:17 m s:34 a(exec_command:13) a:19 u:12 a:12",
    );
    expect(transcript.map(({ usage }) => usage?.inputTokens)).toEqual([
      ...[undefined, undefined, 700, 200, undefined, undefined, undefined, undefined, undefined, 500],
    ]);
    expect(transcript.at(-1)?.model).toEqual({ provider: "openai", id: "gpt-5.5" });
  });

  it("gives the calls and results of a history that replaced the old one", () => {
    expect(notate(filterCompacted(codex.decode(recorded("rollout-paginated"))))).toBe(
      "m s:34 a(exec_command:13) a:19 u:12 a:12",
    );
  });

  it("reads the bare items of the oldest rollouts", () => {
    expect(notate(codex.decode(recorded("rollout-of-bare-items")))).toBe("u:10 a(shell:47) a:5");
  });
});

describe("writing", () => {
  const hidePart = (messageId: string, partIndex: number): Edit => ({
    type: "hide-part",
    what: "part",
    messageId,
    partIndex,
    stage: "test",
    reason: "test",
  });

  it("keeps two answers apart when what stood between them leaves", () => {
    const wire = recorded("rollout");
    const call = codex.decode(wire)[5];
    const edited = codex.apply(wire, [hidePart(call?.id ?? "", 0)], { at: 1 });
    expect(notate(codex.decode(edited))).toContain("a:27(shell:30,shell:41) a:21 u:14");
  });

  it("edits a result inside of a history that replaced the old one", () => {
    const wire = recorded("rollout-paginated");
    const transcript = codex.decode(wire);
    const id = transcript[6]?.id ?? "";
    const cleared: Edit = { ...hidePart(id, 0), what: "output", reason: "pruned" } as Edit;
    const edited = codex.apply(wire, [cleared], { at: 1 });
    const changed = edited.filter((line, index) => line !== wire[index]).map(asObject);
    expect(changed).toHaveLength(1);
    expect(changed[0]).toMatchObject({
      type: "compacted",
      payload: {
        replacement_history: [
          { id: "msg_u1" },
          { role: "user" },
          { type: "function_call", call_id: "call_2" },
          { call_id: "call_2", output: "[Old tool result content cleared]" },
          { role: "assistant" },
        ],
      },
    });
    // What Codex notes of the items by their number would no longer fit.
    expect(asObject(changed[0]?.payload)).not.toHaveProperty("replacement_history_metadata");
  });

  it("keeps what followed a compaction when the compaction itself leaves", () => {
    const wire = recorded("rollout-paginated");
    const [marker, summary] = codex.decode(wire).slice(4, 6);
    const hide = (messageId: string): Edit => ({
      type: "hide-message",
      messageId,
      stage: "test",
      reason: "test",
    });
    const edited = codex.apply(wire, [hide(marker?.id ?? ""), hide(summary?.id ?? "")], { at: 1 });
    expect(edited.map((line) => asObject(line).type)).not.toContain("compacted");
    expect(notate(codex.decode(edited))).toContain("a:17 a(exec_command:13) a:19 u:12");
  });

  it("numbers numbered lines anew", () => {
    const wire = recorded("rollout").map((line, ordinal) => ({ ...line, ordinal }));
    const edits: readonly Edit[] = [
      { type: "hide-message", messageId: codex.decode(wire)[4]?.id ?? "", stage: "test", reason: "test" },
    ];
    const edited = codex.apply(wire, edits, { at: 1 });
    expect(edited.map((line) => asObject(line).ordinal)).toEqual(edited.map((_, index) => index));
    expect(edited.length).toBeLessThan(wire.length);
  });
});
