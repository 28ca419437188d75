import { describe, expect, it } from "vitest";
import { sessionOf } from "../../../test/rig/inspector/check-view.ts";
import { deepFreeze, transcript } from "../../../test/rig/notation.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { createInspection } from "./inspection.ts";

describe("what a compaction lost", () => {
  const read = (id: string, path: string, output: string): Message => ({
    id,
    role: "assistant",
    parts: [
      {
        type: "tool",
        callId: `call-${id}`,
        tool: "read",
        input: { filePath: path },
        outcome: { status: "done", output, attachments: [] },
      },
    ],
  });
  const text = (id: string, role: string, words: string, more: Partial<Message> = {}): Message => ({
    id,
    role,
    parts: [{ type: "text", text: words }],
    ...more,
  });
  const compacted: Transcript = [
    text("u1", "user", "Look at the totals."),
    read("a1", "src/totals.ts", "export function sumOfInvoiceLines(lines) {}"),
    read("a2", "src/round.ts", "export function roundHalfToEven(cents) {}"),
    { id: "m", role: "user", parts: [{ type: "compaction", trigger: "auto" }] },
    text("s", "assistant", "We looked at src/totals.ts.", { summary: true, parentId: "m" }),
    text("u2", "user", "Go on."),
    read("a3", "src/round.ts", "export function roundHalfToEven(cents) {}"),
  ];

  it("is what the next steps used that only stood before it, and the files that were read again", () => {
    const [lost, ...more] = createInspection(sessionOf(deepFreeze(compacted))).lostContent();
    expect(more).toEqual([]);
    expect(lost).toMatchObject({
      index: 4,
      summary: "We looked at src/totals.ts.",
      summarizedMessages: 3,
      keptMessages: 0,
      readAgain: [{ path: "src/round.ts", index: 6 }],
    });
    expect(lost?.missing.map(({ name }) => name)).toContain("src/round.ts");
    expect(lost?.neededCount).toBe((lost?.keptCount ?? 0) + (lost?.missing.length ?? 0));
  });

  it("is nothing where there was none", () => {
    expect(createInspection(sessionOf(compacted.slice(0, 3))).lostContent()).toEqual([]);
  });
});

it("the policies side by side say what each view says", () => {
  const inspection = createInspection(sessionOf(transcript("u:100 a(bash:9000) u:50 a(read:9000) u:10")));
  const results = inspection.comparePolicies({});
  expect(results.map(({ id }) => id)).toEqual(inspection.policies.map(({ id }) => id));
  const sent = inspection.inspectWindow({ policy: "as-sent" }).size.tokens;
  for (const { id, tokens, changeTokens } of results) {
    expect(tokens).toBe(inspection.inspectWindow({ policy: id }).size.tokens);
    expect(changeTokens).toBe(tokens - sent);
  }
});
