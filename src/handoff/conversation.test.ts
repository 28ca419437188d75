import { describe, expect, it } from "vitest";
import { hand, KEY, ran, readBack, TARGETS, talk } from "../../test/rig/handoffs.ts";
import type { Transcript } from "../transcript/message.ts";

const textOf = (transcript: Transcript): string =>
  transcript.flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : ""))).join("\n");

describe.each(TARGETS)("the first text of a session handed to %s", (target) => {
  it("says once where it comes from, however often it was handed over", async () => {
    const source = { format: target, path: "/copy", sessionId: "copy" } as const;
    const once = hand(talk(ran("bash", { command: "ls" })), target);
    const twice = hand(await readBack(once), target, { source });
    expect(twice.content.match(/Handed over by Carryover/g)?.length).toBe(
      once.content.match(/Handed over by Carryover/g)?.length,
    );
    expect(twice.notice).toContain("session copy, which came from Codex, session abc: 1 tool call");
    expect(textOf(await readBack(twice))).toContain("Please look.");
  });

  it("tells what was done to it before, and its first original, however often it was handed over", async () => {
    const first = { format: "codex", path: "/my sessions/a\nb, [c].jsonl", sessionId: "a: b" } as const;
    const long = Array.from({ length: 4_000 }, (_, line) => `line ${line} of many`).join("\n");
    const once = hand(talk(ran("bash", { command: "cat log" }, `${long}\n${KEY}`)), target, {
      source: first,
      budgetChars: 20_000,
      secrets: "taken-out",
    });
    expect(once.notice).not.toContain("\n");
    const source = { format: target, path: "/copy", sessionId: "copy" } as const;
    const twice = hand(await readBack(once), target, { source });
    const third = hand(await readBack(twice), target, { source: { ...source, path: "/copy2" } });
    const said = "1 tool call with its result; 1 part shortened to fit; 1 secret taken out.";
    expect(twice).toMatchObject({ from: 'Codex, session "a: b"', originals: [first.path] });
    expect(twice.notice).toContain(`1 tool call with its result. Before that: ${said} The originals are`);
    expect(third.notice).toContain(`. Before that: 1 tool call with its result. Before that: ${said} The`);
    expect(third.notice).toMatch(/untouched: "\/my sessions\/a\\nb, \[c\]\.jsonl", \/copy, \/copy2\]$/);
    expect(third.originals).toEqual([first.path, "/copy"]);
    expect(third.content.match(/Handed over by Carryover/g)).toHaveLength(
      once.content.match(/Handed over by Carryover/g)?.length ?? 0,
    );
  });

  it("counts the escape sequences that no session has a place for", () => {
    const red = "\x1b[31mred\x1b[0m\x07";
    const text = { type: "text", text: "\x1b[1mdone" };
    const plain = hand(talk(text, ran("bash", { command: "ls" }, red)), target);
    expect(plain).toMatchObject({ controls: 4 });
    expect(plain.notice).toContain("; 4 control sequences of terminals taken out.");
    const key = hand(talk(ran("bash", { command: "ls" }, `${red} ${KEY}`)), target, { secrets: "taken-out" });
    expect(key.notice).toContain("1 secret taken out; 3 control sequences of terminals taken out.");
    expect(JSON.stringify(plain.content)).not.toContain("u001b");
    expect(hand(talk(ran("bash", { command: "ls" })), target).notice).not.toContain("control");
  });
});
