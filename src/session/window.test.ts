import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSession } from "../../test/rig/engine-session.ts";
import { createFakeClock } from "../../test/rig/fakes.ts";
import type { Message } from "../transcript/message.ts";
import type { ToolOutcome } from "../transcript/part.ts";
import type { Session } from "./session.ts";
import { windowOf } from "./window.ts";

const call = (id: string, ...outcomes: readonly ToolOutcome[]): Message => ({
  id,
  role: "assistant",
  parts: outcomes.map((outcome, index) => ({
    type: "tool",
    callId: `${id}-${index}`,
    tool: "bash",
    input: { command: "make" },
    outcome,
  })),
});
const PENDING: ToolOutcome = { status: "pending" };
const done = (output: string): ToolOutcome => ({ status: "done", output, attachments: [] });
const user = (id: string): Message => ({
  id,
  role: "user",
  parts: [{ type: "text", text: `request ${id}` }],
});

describe("a window", () => {
  it("is without a summary that was aborted, and with the next one that was not", () => {
    const said: Message = { ...user("a"), role: "assistant", finish: "stop" };
    const marker: Message = { id: "m", role: "user", parts: [{ type: "compaction", trigger: "auto" }] };
    const half: Message = { ...said, id: "s", summary: true, parentId: "m", finish: "error" };
    const aborted = { ...half, error: { name: "MessageAbortedError", text: "stopped" } };
    const history = [user("u"), said, marker, aborted, user("u2")];
    expect(windowOf(history).shown.map(({ id }) => id)).toEqual(["u", "a", "m", "u2"]);
    const again = [
      { ...marker, id: "m2" },
      { ...half, id: "s2", parentId: "m2", finish: "stop" },
    ];
    expect(windowOf([...history, ...again]).shown.map(({ id }) => id)).toEqual(["m2", "s2"]);
  });

  it("is the same object for the same transcript", () => {
    const transcript = [user("u")];
    expect(windowOf(transcript)).toBe(windowOf(transcript));
  });
});

describe("a session whose results arrive one by one", () => {
  const fresh = (): Session =>
    createSession({ clock: createFakeClock() }, { compaction: { toolCallCutoff: 2 }, toolOutput: "off" });
  const facts = (session: Session): unknown => {
    const action = session.nextAction();
    return { tokens: session.status().tokens, type: action.type, shown: session.messages() };
  };
  const change = fc.oneof(
    fc.record({ type: fc.constant("call" as const), calls: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ type: fc.constant("result" as const), chars: fc.integer({ min: 0, max: 400 }) }),
    fc.record({ type: fc.constantFrom("user" as const, "take-back" as const) }),
  );

  it("counts as one that has seen them all at once", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 24 }), (changes) => {
        const session = fresh();
        const list: Message[] = [user("u")];
        for (const [index, each] of changes.entries()) {
          const last = list.at(-1);
          if (each.type === "call")
            list.push(call(`a${index}`, ...Array.from({ length: each.calls }, () => PENDING)));
          else if (each.type === "user") list.push(user(`u${index}`));
          else if (each.type === "take-back") list.pop();
          else if (each.type === "result" && last?.role === "assistant") {
            const next = last.parts.findIndex(
              (part) => part.type === "tool" && part.outcome.status === "pending",
            );
            const parts = last.parts.map((part, at) =>
              at === next && part.type === "tool" ? { ...part, outcome: done("x".repeat(each.chars)) } : part,
            );
            list[list.length - 1] = { ...last, parts };
          }
          session.observe([...list]);
          const other = fresh();
          other.observe([...list]);
          expect(facts(session)).toEqual(facts(other));
        }
      }),
    );
  });
});
