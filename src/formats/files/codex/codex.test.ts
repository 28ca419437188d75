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
