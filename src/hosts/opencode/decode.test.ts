import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyOpenCodeMessages } from "../../../test/rig/random-history/lower-to-opencode.ts";
import type { SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import { asObject } from "../../text/json.ts";
import { createMemoizedDecode, decodesEqual } from "./messages.ts";

function said(id: string, text: string): SessionMessage {
  return { info: { id, role: "user" }, parts: [{ type: "text", text }] };
}

describe("a list that is read again and again", () => {
  it("always becomes what it becomes by itself", () => {
    fc.assert(
      fc.property(fc.array(anyOpenCodeMessages, { minLength: 1, maxLength: 2 }), (histories) => {
        const decode = createMemoizedDecode();
        for (const history of [...histories, ...histories]) {
          expect(decode(structuredClone(history))).toEqual(opencode.decode(history));
        }
      }),
    );
  });

  it("becomes the very same messages where it says the same, and new ones elsewhere", () => {
    const decode = createMemoizedDecode();
    const first = decode([said("a", "One."), said("b", "Two."), said("c", "Three.")]);
    const second = decode([said("b", "Two."), said("c", "Four."), said("d", "Five.")]);
    expect(second[0]).toBe(first[1]);
    expect(second[1]).not.toBe(first[2]);
    expect(second).toEqual(opencode.decode([said("b", "Two."), said("c", "Four."), said("d", "Five.")]));
  });

  it("does not change with what another plugin does to the list afterwards", () => {
    const decode = createMemoizedDecode();
    const list = [said("a", "One.")];
    const [first] = decode(list);
    Object.assign(list[0]?.parts[0] ?? {}, { text: "Changed." });
    expect(decode([said("a", "One.")])[0]).toBe(first);
    expect(decode([said("a", "Changed.")])).toEqual(opencode.decode([said("a", "Changed.")]));
  });

  it.each([
    [[null]],
    [[5]],
    [[{}]],
    [[{ info: { id: "a", role: "user" } }]],
    [[said("a", ""), said("a", "")]],
  ])("reads %j as it is", (list) => {
    const wire = list as unknown as readonly SessionMessage[];
    const decode = createMemoizedDecode();
    expect(decode(wire)).toEqual(opencode.decode(wire));
    expect(decode(wire)).toEqual(opencode.decode(wire));
  });
});

const STEP: SessionMessage = {
  info: {
    id: "msg_1",
    role: "assistant",
    sessionID: "ses_1",
    parentID: "msg_0",
    providerID: "p",
    modelID: "m",
    finish: "tool-calls",
    summary: true,
    error: { name: "APIError", data: { message: "no" } },
    model: { providerID: "p", modelID: "m" },
    time: { created: 1, completed: 2 },
    tokens: { total: 9, input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } },
    metadata: { carryover: { agentVisible: false, userVisible: true, kind: "tool_summary" } },
  },
  parts: [
    { id: "p1", type: "step-start" },
    {
      id: "p2",
      type: "text",
      text: "Hello.",
      synthetic: true,
      ignored: true,
      metadata: { carryover: { cut: { omittedChars: 1 } } },
    },
    { id: "p3", type: "reasoning", text: "Hm." },
    { id: "p4", type: "file", mime: "image/png", filename: "a.png", url: "data:image/png;base64,AAAA" },
    { id: "p5", type: "compaction", auto: true, overflow: true, tail_start_id: "msg_0" },
    {
      id: "p6",
      type: "tool",
      tool: "bash",
      callID: "c1",
      state: {
        status: "completed",
        input: { command: "ls", deep: { list: [1, 2] } },
        output: "a\nb",
        title: "List",
        time: { start: 1, end: 2, compacted: 3 },
        attachments: [{ type: "file", mime: "image/png", filename: "a.png" }],
        metadata: { output: "a\nb", carryover: { inputCut: { preview: "ls" } } },
      },
    },
    {
      id: "p7",
      type: "tool",
      tool: "bash",
      callID: "c2",
      state: { status: "error", error: "no", metadata: { interrupted: true, output: "half" } },
    },
    { id: "p8", type: "step-finish", reason: "tool-calls", tokens: { input: 1 } },
  ],
};

const QUESTION: SessionMessage = {
  info: {
    id: "msg_0",
    role: "user",
    model: { providerID: "p", modelID: "m" },
    summary: { diffs: [{ file: "a.ts", before: "1", after: "2" }] },
    time: { created: 1 },
  },
  parts: [{ type: "text", text: "Why?" }],
};

/** The message with each of its values in turn replaced by another, and with each left out. */
function* changesOf(value: unknown, rebuild: (changed: unknown) => unknown): Generator<unknown> {
  if (typeof value !== "object" || value === null) {
    for (const other of ["other", 77, true, undefined]) if (other !== value) yield rebuild(other);
    return;
  }
  for (const key of Object.keys(value)) {
    const put = (changed: unknown): unknown => {
      const copy = structuredClone(value) as Record<string, unknown>;
      if (changed === undefined && !Array.isArray(copy)) delete copy[key];
      else copy[key] = changed;
      return rebuild(copy);
    };
    yield put(undefined);
    yield* changesOf((value as Record<string, unknown>)[key], put);
  }
}

describe("two messages of the host", () => {
  it.each([
    { name: "a step", message: STEP, atLeast: 20 },
    { name: "a question", message: QUESTION, atLeast: 8 },
  ])("are taken for the same only if they become the same: $name", ({ message, atLeast }) => {
    let sames = 0;
    for (const changed of changesOf(message, (value) => value) as Generator<SessionMessage>) {
      if (changed.info === undefined || !Array.isArray(changed.parts)) continue;
      if (!decodesEqual(message, changed)) continue;
      sames += 1;
      expect(opencode.decode([changed])).toEqual(opencode.decode([message]));
    }
    expect(sames).toBeGreaterThanOrEqual(atLeast);
  });

  it("are taken for the same whatever tools keep in their metadata, and however a step is told of", () => {
    const retold = structuredClone(STEP);
    const [start, , , , , tool] = retold.parts;
    Object.assign(start ?? {}, { snapshot: "abc" });
    Object.assign(asObject(asObject(tool?.state).metadata), { diagnostics: [1, 2], output: "more" });
    expect(decodesEqual(STEP, retold)).toBe(true);
  });
});
