import { describe, expect, it } from "vitest";
import type { Part } from "../../../transcript/part.ts";
import { createInspection } from "../../view/inspection.ts";
import type { InspectedSession } from "../../view/types.ts";
import { itemLabel, itemName } from "./item-label.ts";
import { verdictOf } from "./verdict.ts";

describe("labels", () => {
  it.each<{ name: string; part: Part; labels: readonly string[] }>([
    {
      name: "begin with what a text says, on one line",
      part: { type: "text", text: "  Look at\n\nthe totals " },
      labels: ["user: Look at the totals"],
    },
    {
      name: "name the file inside the project",
      part: call({ filePath: "/home/dev/tally/src/money.ts" }, "1: export"),
      labels: ["read call: src/money.ts", "read: src/money.ts"],
    },
    {
      name: "show what a call asked for when it is about no file",
      part: { ...call({ pattern: "round", limit: 5, nested: { a: 1 } }, "no match"), tool: "search" },
      labels: ["search call: round · 5", "search: no match"],
    },
    {
      name: "say that a call failed",
      part: { ...call("ls", ""), tool: "bash", outcome: { status: "failed", error: "not found" } },
      labels: ["bash call: ls", "bash failed: not found"],
    },
  ])("$name", ({ part, labels }) => {
    const session = sessionWith(part);
    const rows = createInspection(session).inspectWindow({ policy: "as-sent" }).rows;
    const shown = rows.flatMap((row) => row.items.map((item) => itemLabel(session, row, item)));
    expect(shown.map(({ what, detail }) => `${what}: ${detail}`)).toEqual(labels);
  });

  it("read no more of a long text than a line shows", () => {
    const session = sessionWith({ type: "text", text: "word ".repeat(1_000_000) });
    const [row] = createInspection(session).inspectWindow({ policy: "as-sent" }).rows;
    const item = row?.items[0];
    if (row === undefined || item === undefined) throw new Error("no item");
    expect(itemLabel(session, row, item).detail.length).toBeLessThan(200);
    expect(itemName(session, row, item).length).toBeLessThan(60);
  });
});

describe("the verdict", () => {
  it("names the largest when nothing left", () => {
    const session = sessionWith(call({ filePath: "/home/dev/tally/a.ts" }, "x".repeat(1_500)));
    const view = createInspection(session).inspectWindow({ policy: "as-sent" });
    expect(verdictOf(view, session)).toBe(
      "1.5 k chars seen, 1.5 k in the window; largest: read a.ts (1.5 k)",
    );
  });

  it("names what left most", () => {
    const session = sessionWith({
      ...call({ filePath: "/home/dev/tally/a.ts" }, "x".repeat(1_500)),
      clearedAt: 5,
    });
    const view = createInspection(session).inspectWindow({ policy: "as-sent" });
    expect(verdictOf(view, session)).toMatch(/most of what is not: read a\.ts \(1\.5 k\)$/);
  });

  it("is said of an empty session as well", () => {
    const session = { ...sessionWith({ type: "text", text: "" }), transcript: [] };
    expect(verdictOf(createInspection(session).inspectWindow({ policy: "as-sent" }), session)).toBe(
      "Nothing was said yet.",
    );
  });
});

function call(input: unknown, output: string): Extract<Part, { type: "tool" }> {
  return {
    type: "tool",
    callId: "call",
    tool: "read",
    input,
    outcome: { status: "done", output, attachments: [] },
  };
}

function sessionWith(part: Part): InspectedSession {
  return {
    name: "made",
    format: "opencode",
    windowTokens: 200_000,
    windowKnown: true,
    workingDirectory: "/home/dev/tally",
    transcript: [{ id: "m", role: "user", parts: [part] }],
    redactedSecrets: 0,
    problems: [],
  };
}
