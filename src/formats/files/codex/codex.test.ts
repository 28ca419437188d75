import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate } from "../../../../test/rig/notation.ts";
import { filterCompacted } from "../../../stages/boundary.ts";
import { asObject, type UnknownObject } from "../../../text/unknown-value.ts";
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

  it("tells the user's words of a compaction from its summary, and both from what the program added", () => {
    const item = (role: string, ...texts: readonly string[]) => ({
      type: "message",
      role,
      content: texts.map((text) => ({ type: "input_text", text })),
    });
    const history = [
      item("user", "Count them."),
      item("developer", "<permissions>"),
      item("user", "<environment_context>"),
      item("user", "Another model counted."),
    ];
    const compacted = (message: string, ...more: readonly object[]) =>
      codex.decode([
        { type: "compacted", payload: { message, replacement_history: [...history, ...more] } },
      ])[1]?.parts;
    const [typed, ...added] = [
      { type: "text", text: "Count them." },
      { type: "opaque", name: "developer", chars: 15 },
      { type: "opaque", name: "context", chars: 23 },
    ];
    expect(compacted("Another model counted.")).toEqual([
      typed,
      ...added,
      { type: "text", text: "Another model counted.", synthetic: true },
    ]);
    expect(compacted("", { type: "compaction", encrypted_content: "gAAAA" })).toEqual([
      typed,
      ...added,
      { type: "text", text: "Another model counted." },
      { type: "opaque", name: "compaction" },
    ]);
  });

  it("marks what the program says in the user's name", () => {
    const [context, typed] = recorded("rollout")
      .flatMap((line) => {
        const [message] = codex.decode([line]);
        return message?.role === "user" ? [message.parts[0]] : [];
      })
      .slice(1);
    expect([context, typed]).toMatchObject([{ synthetic: true }, { type: "text" }]);
    expect(typed).not.toHaveProperty("synthetic");
  });

  it("reads a search for tools, and writes what an edit made of it", () => {
    const call = { type: "tool_search_call", call_id: "c", execution: "client", arguments: { query: "git" } };
    const found = { type: "tool_search_output", call_id: "c", tools: [{ name: "git" }] };
    const wire = [call, found].map((payload) => ({ type: "response_item", payload }));
    const [message] = codex.decode(wire);
    expect(message?.parts).toMatchObject([
      { tool: "tool_search", input: { query: "git" }, outcome: { output: '[{"name":"git"}]' } },
    ]);
    const [part] = message?.parts ?? [];
    if (message === undefined || part?.type !== "tool") throw new Error("no call");
    const outcome = { status: "done", output: "cut", attachments: [] } as const;
    const edit: Edit = {
      type: "replace-part",
      messageId: message.id,
      partIndex: 0,
      part: { ...part, input: { query: "g" }, outcome },
      stage: "test",
      reason: "test",
    };
    const edited = codex.apply(wire, [edit], { at: 1 });
    expect(edited.map((line) => asObject(line).payload)).toEqual([
      { ...call, arguments: { query: "g" } },
      { ...found, tools: [], shortened: "cut" },
    ]);
    expect(codex.decode(edited)[0]?.parts).toMatchObject([{ input: { query: "g" }, outcome }]);
  });

  it("reads lines that were put into another order: a result joins its call, and numbers count", () => {
    const wire = recorded("rollout");
    const place = wire.findIndex(({ payload }) => asObject(payload).type === "function_call");
    const call = wire[place] as UnknownObject;
    const late = [
      ...wire.slice(0, place),
      ...wire.slice(place + 1, place + 5),
      call,
      ...wire.slice(place + 5),
    ];
    const results = (lines: readonly unknown[]) =>
      codex
        .decode(lines)
        .flatMap(({ parts }) => parts.flatMap((part) => (part.type === "tool" ? [part] : [])));
    expect(results(late)).toHaveLength(results(wire).length);
    expect(
      results(late).filter(({ outcome, callMissing }) => callMissing || outcome.status === "pending"),
    ).toEqual([]);
    const numbered = recorded("rollout-paginated");
    expect(codex.decode(numbered.toReversed())).toEqual(codex.decode(numbered));
    const [user] = codex.decode(numbered).filter(({ role }) => role === "user");
    const hide: Edit = { type: "hide-message", messageId: user?.id ?? "", stage: "test", reason: "test" };
    expect(codex.apply(numbered.toReversed(), [hide], { at: 1 })).toEqual(
      codex.apply(numbered, [hide], { at: 1 }),
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
