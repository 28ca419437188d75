import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { anyOpenCodeMessages } from "../../../test/rig/random-history/lower-to-opencode.ts";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import { outcomeText } from "../../transcript/content.ts";
import { applyEdits, runStages } from "../../transcript/edit.ts";
import { charsOf } from "../../transcript/estimate-message.ts";
import { findFaults } from "../../transcript/format.ts";
import { type Message, project, type Transcript } from "../../transcript/message.ts";
import { CLEARED_PLACEHOLDER, type Part, type ToolPart } from "../../transcript/part.ts";
import { repairPairing } from "../repair.ts";
import { fillBudget } from "./fill.ts";
import { type KeepLinesOptions, keepLines } from "./keep-lines.ts";

const report = (name: string, lines: number): string =>
  Array.from({ length: lines }, (_, line) => `${name} line ${line} of a long report`).join("\n");

function step(id: string, { output = report(id, 60), ...part }: StepOptions = {}): Message {
  const outcome = { status: "done", output, attachments: [] } as const;
  const input = { command: `run ${id}` };
  return {
    id,
    role: "assistant",
    parts: [{ type: "tool", callId: `${id}-call`, tool: "bash", input, outcome, ...part }],
  };
}

interface StepOptions extends Partial<ToolPart> {
  readonly output?: string;
}

const user = (id: string, text: string): Message => ({ id, role: "user", parts: [{ type: "text", text }] });
const steps = (count: number): Transcript => Array.from({ length: count }, (_, index) => step(`s${index}`));

function kept(messages: Transcript, options: Partial<KeepLinesOptions> = {}): Transcript {
  const edits = keepLines({ keepChars: 4_000, protectResults: 2, ...options })(deepFreeze(messages));
  return applyEdits(messages, edits, { at: 1 });
}

const find = (messages: Transcript, id: string): Message | undefined =>
  project(messages).find((message) => message.id === id);
const sent = (messages: Transcript): string => JSON.stringify(project(messages));

const charsSent = (messages: Transcript): number =>
  project(messages).reduce((sum, message) => sum + charsOf(message), 0);

describe("keepLines", () => {
  it("changes nothing where everything fits", () => {
    expect(keepLines({ keepChars: 1_000_000 })(steps(30))).toEqual([]);
  });

  it("changes nothing while there are no more results than stay whole", () => {
    expect(keepLines({ keepChars: 100 })(steps(9))).toEqual([]);
    expect(keepLines({ keepChars: 100 })(steps(20))).not.toEqual([]);
  });

  it("names hidden calls on the one that is signed for the others of its step, and leaves no other of it", () => {
    const parallel = steps(30).map((message): Message => {
      const [call] = message.parts as readonly [ToolPart];
      const sibling = { ...call, callId: `${call.callId}-2`, input: { command: "ls" } };
      return {
        ...message,
        parts: [{ ...call, signed: true }, sibling, { ...sibling, callId: `${call.callId}-3` }],
      };
    });
    const left = project(kept([user("u1", "go"), ...parallel], { protectResults: 3 }));
    const stubs = left.filter((message) => JSON.stringify(message).includes("left out here"));
    expect(stubs.length).toBeGreaterThan(0);
    for (const { parts } of stubs) expect(parts).toMatchObject([{ type: "tool", signed: true }]);
    for (const { role, parts } of left)
      if (role === "assistant") expect(parts[0]).toMatchObject({ type: "tool", signed: true });
  });

  it("leaves the newest results and what users said as they are", () => {
    const request = user("u1", report("request", 200));
    const messages = [request, ...steps(8), user("u2", "go on")];
    const after = kept(messages);
    expect([after[0], ...after.slice(-3)]).toEqual([request, ...messages.slice(-3)]);
    for (const message of [after[0], ...after.slice(-3)]) expect(messages).toContain(message);
    expect(sent(after).length).toBeLessThan(sent(messages).length - 6_000);
  });

  it("leaves the newest turns as they are where that is asked for", () => {
    const messages = [user("u1", "go"), ...steps(4), user("u2", "go"), ...steps(4)].map((message, index) => ({
      ...message,
      id: `m${index}`,
    }));
    expect(kept(messages, { protectTurns: 1 }).slice(5)).toEqual(messages.slice(5));
  });

  it("keeps of an old output the line that has a name found nowhere else, and says where the rest is", () => {
    const output = `${report("common", 100)}\nfunc computeWingFold() {\n${report("common", 100)}`;
    const messages = [user("u1", "go"), step("old", { output }), ...steps(6)];
    const [edit] = keepLines({ keepChars: 4_000, protectResults: 2 })(messages);
    expect(edit).toMatchObject({
      type: "replace-part",
      messageId: "old",
      stage: "keep-lines",
      reason: "selected-lines",
      omitted: { handle: "old/0" },
      part: { cut: { method: "lines", originalChars: output.length } },
    });
    expect(sent(kept(messages))).toContain("computeWingFold");
  });

  it("never leaves a part of what the agent wrote, calls included", () => {
    const mixed = (name: string): string => `${report("s5", 60)}\nfunc ${name}() {\n${report("s5", 60)}`;
    const long = { path: "a.ts", next: mixed("computeWingFold") };
    const wrote: Message = {
      id: "wrote",
      role: "assistant",
      parts: [
        { type: "text", text: mixed("measureTailSpan") },
        ...step("x", { tool: "edit", input: long, output: mixed("openBayDoors") }).parts,
      ],
    };
    const messages = [user("u1", "go"), wrote, ...steps(8)];
    const cut = applyEdits(messages, fillBudget({ maxChars: 4_000 })(messages), { at: 0 });
    expect(cut[1]?.parts.map((part) => JSON.stringify(part).includes("[...]"))).toEqual([true, true]);
    const { parts = [] } = find(kept(messages), "wrote") ?? {};
    expect(parts[0]).toEqual(wrote.parts[0]);
    expect(parts[1]).toMatchObject({ input: long, cut: { method: "lines" } });
    expect(parts[1]).not.toHaveProperty("inputCut");
  });

  it("leaves the last word of each turn, so that no user speaks into a loop of calls", () => {
    const said = (id: string): Message => ({
      id,
      role: "assistant",
      parts: [{ type: "text", text: report("s5", 60) }],
    });
    const messages = [
      user("u1", "go"),
      said("between"),
      step("a"),
      said("last"),
      user("u2", "go"),
      ...steps(8),
    ];
    const after = kept(messages, { keepChars: 600 });
    expect(find(after, "between")).toBeUndefined();
    expect(after[3]).toBe(messages[3]);
  });

  it.each<{ name: string; old: Message }>([
    { name: "a call of a protected tool", old: step("old", { tool: "Skill" }) },
    { name: "what a user answered", old: step("old", { tool: "question" }) },
    { name: "a call that has no result yet", old: step("old", { outcome: { status: "pending" } }) },
    {
      name: "a call beside one that has no result yet",
      old: {
        ...step("old"),
        parts: [...step("old").parts, ...step("b", { outcome: { status: "pending" } }).parts],
      },
    },
    { name: "a summary", old: { ...step("old"), summary: true } },
    { name: "a tool summary", old: { ...step("old"), metadata: { kind: "tool_summary" } } },
  ])("does not touch $name", ({ old }) => {
    const messages = [user("u1", "go"), old, ...steps(8)];
    expect(kept(messages, { keepChars: 300 })[1]).toBe(old);
  });

  it("leaves only the handle of the other calls beside one that may not go", () => {
    const old = step("old", { tool: "skill" });
    const both = { ...old, parts: [...old.parts, ...step("b").parts] };
    const { parts } = find(kept([user("u1", "go"), both, ...steps(8)], { keepChars: 300 }), "old") ?? {};
    expect(parts).toMatchObject([
      old.parts[0] ?? {},
      { input: { command: "run b" }, outcome: { output: "[...]\n[whole result: old/1]" } },
    ]);
  });

  it("leaves one of the calls that go, with the handle of all of them", () => {
    const messages = [user("u1", "go"), ...steps(8)];
    const after = project(kept(messages, { keepChars: 300 }));
    expect(after.map(({ id }) => id)).toEqual(["u1", "s3", "s4", "s5", "s6", "s7"]);
    expect(after[1]?.parts).toMatchObject([
      { input: { command: "run s3" }, outcome: { output: "[4 calls left out here, whole: s0..s3]" } },
    ]);
  });

  it("names in later gaps also what was hidden before, and a lone call by its message", () => {
    const grown = [...steps(8), step("s8"), step("s9"), step("s10")];
    const options = { keepChars: 300, protectResults: 2 };
    const first = applyEdits(grown, keepLines(options)(grown.slice(0, 6)), { at: 1 });
    const text = sent(applyEdits(first, keepLines(options)(first), { at: 2 }));
    expect(text.match(/whole: [^\]]+/g)).toEqual(["whole: s0..s6"]);
    expect(sent(kept(steps(3), { keepChars: 10 }))).toContain("[1 call left out here, whole: s0]");
  });

  it("keeps no call with a long input, and leaves calls alone that are shorter than a handle", () => {
    const long = step("long", { input: { content: "word ".repeat(400) } });
    const after = kept([user("u1", "go"), long, ...steps(6)], { keepChars: 100 });
    expect(find(after, "long")).toBeUndefined();
    expect(sent(after)).toContain("left out here, whole: long..s3]");
    const short = Array.from({ length: 8 }, (_, index) => step(`s${index}`, { output: "" }));
    expect(keepLines({ keepChars: 10, protectResults: 7 })(short)).toEqual([]);
  });

  it.each([
    { protectChars: 0, whole: ["s7"] },
    { protectChars: 6_000, whole: ["s5", "s6", "s7"] },
    { protectChars: Number.POSITIVE_INFINITY, whole: ["s4", "s5", "s6", "s7"] },
  ])("keeps $protectChars characters of the newest results whole", ({ protectChars, whole }) => {
    const messages = steps(8).map(({ id }) => step(id, { output: report(id, 60).slice(0, 2_000) }));
    const after = kept(messages, { keepChars: 100, protectResults: 4, protectChars });
    expect(after.filter((message) => messages.includes(message)).map(({ id }) => id)).toEqual(whole);
  });

  it("leaves of an output without a line worth keeping only its handle, and the call", () => {
    const old = step("computeWingFold", { output: report("s5", 60) });
    const after = find(kept([user("u1", "go"), old, ...steps(8)], { keepChars: 2_500 }), "computeWingFold");
    expect(after?.parts[0]).toMatchObject({
      input: { command: "run computeWingFold" },
      outcome: { output: "[...]\n[whole result: computeWingFold/0]" },
    });
  });

  it("clears an output with an image of which no line is worth keeping: the image goes too", () => {
    const outcome = {
      status: "done",
      output: report("s5", 60),
      attachments: [{ type: "file", mime: "image/png" }],
    } as const;
    const old = step("computeWingFold", { outcome });
    const after = find(kept([user("u1", "go"), old, ...steps(8)], { keepChars: 2_500 }), "computeWingFold");
    expect(after?.parts[0]).toMatchObject({ outcome: { output: CLEARED_PLACEHOLDER, attachments: [] } });
  });

  it("names the handle once, however often an output is shortened", () => {
    const names = ["openBayDoors", "measureTailSpan", "computeWingFold"];
    const output = names.map((name) => `${report("s5", 40)}\nfunc ${name}() {`).join("\n");
    let messages: Transcript = [user("u1", "go"), step("old", { output }), ...steps(6)];
    for (const keepChars of [5_000, 3_500, 2_600, 2_200]) {
      messages = kept(messages, { keepChars });
      const { parts = [] } = find(messages, "old") ?? {};
      const text = parts[0]?.type === "tool" ? outcomeText(parts[0].outcome) : "";
      if (text !== "") expect(text.split("[whole result: old/0]")).toHaveLength(2);
      if (text !== "") expect(text.endsWith("\n[whole result: old/0]")).toBe(true);
    }
  });

  it("is not held back by a host's own records", () => {
    const record = (name: string): Part => ({ type: "opaque", name, bookkeeping: true });
    const withRecords = (message: Message): Message => ({
      ...message,
      parts: [record("step-start"), ...message.parts, record("patch"), record("step-finish")],
    });
    const messages = [user("u1", "go"), ...steps(12)];
    const wrapped = messages.map((message) => (message.role === "user" ? message : withRecords(message)));
    const texts = (after: Transcript): unknown =>
      project(after).map(({ id, parts }) => [id, parts.filter(({ type }) => type !== "opaque")]);
    for (const keepChars of [300, 2_000, 8_000]) {
      expect(JSON.stringify(texts(kept(wrapped, { keepChars })))).toBe(
        JSON.stringify(texts(kept(messages, { keepChars }))).replace(/(s\d+)\/0\]/g, "$1/1]"),
      );
    }
    const left = kept(wrapped, { keepChars: 8_000 }).flatMap(({ parts }) =>
      parts.filter(({ type }) => type === "opaque"),
    );
    expect(left).toEqual(wrapped.flatMap(({ parts }) => parts.filter(({ type }) => type === "opaque")));
  });

  it.each<{ name: string; unknown: Part }>([
    { name: "something that nobody understands", unknown: { type: "opaque", name: "approval" } },
    { name: "a file", unknown: { type: "file", mime: "image/png" } },
  ])("shortens only outputs beside $name, which stays where it is", ({ unknown }) => {
    const said: Part = { type: "text", text: report("s5", 60) };
    const [call] = step("old").parts as [ToolPart];
    const old: Message = { id: "old", role: "assistant", parts: [unknown, said, call, unknown] };
    for (const keepChars of [300, 2_500]) {
      const after = kept([user("u1", "go"), old, ...steps(8)], { keepChars })[1];
      expect(after?.parts.map(({ agentVisible }) => agentVisible)).toEqual(old.parts.map(() => undefined));
      expect([after?.parts[0], after?.parts[1], after?.parts[3]]).toEqual([unknown, said, unknown]);
      const { input, outcome } = (after?.parts ?? [])[2] as ToolPart;
      expect(input).toBe(call.input);
      expect(outcomeText(outcome).length).toBeLessThan(outcomeText(call.outcome).length);
      expect(outcomeText(outcome)).toContain("[whole result: old/2]");
    }
  });

  describe("says with each edit what it leaves, and where the rest is", () => {
    const editsOf = (messages: Transcript, keepChars = 300) =>
      keepLines({ keepChars, protectResults: 2 })(deepFreeze([user("u1", "go"), ...messages]));
    const length = report("s1", 60).length;
    const cut = { method: "lines", originalChars: length, omittedChars: length, limitChars: 0 };
    const shortened = (messageId: string, partIndex: number, chars: number) => ({
      type: "replace-part",
      stage: "keep-lines",
      reason: "selected-lines",
      messageId,
      partIndex,
      omitted: {
        chars: chars - `[...]\n[whole result: ${messageId}/${partIndex}]`.length,
        handle: `${messageId}/${partIndex}`,
      },
    });

    it("of calls that follow each other", () => {
      expect(editsOf(steps(5))).toMatchObject([
        { ...shortened("s1", 0, length), part: { cut, outcome: { output: "[...]\n[whole result: s1/0]" } } },
        { ...shortened("s2", 0, length), part: { cut } },
        {
          type: "replace-part",
          messageId: "s0",
          partIndex: 0,
          stage: "keep-lines",
          reason: "pruned",
          part: { cut, outcome: { output: "[1 call left out here, whole: s0]" } },
          omitted: { handle: "s0" },
        },
      ]);
    });

    it("of calls and words in one message, of which those count that the model sees", () => {
      const words: Part = { type: "text", text: report("s5", 10) };
      const [first, second] = [...step("a").parts, ...step("b").parts] as [ToolPart, ToolPart];
      const unseen: Part = { ...first, callId: "h", agentVisible: false };
      const both: Message = { id: "p", role: "assistant", parts: [words, first, unseen, second] };
      const ofBoth = editsOf([both, ...steps(3)]).filter(
        (edit) => "messageId" in edit && edit.messageId === "p",
      );
      expect(ofBoth).toMatchObject([
        {
          type: "hide-part",
          what: "part",
          partIndex: 0,
          stage: "keep-lines",
          reason: "pruned",
          omitted: { chars: words.text.length, handle: "p/0" },
        },
        shortened("p", 1, report("a", 60).length),
        shortened("p", 3, report("b", 60).length),
      ]);
    });

    it("of a call with a long input, which goes with its message where it is the only one", () => {
      const words: Part = { type: "text", text: "func computeWingFold() {\nfunc measureTailSpan() {" };
      const long = { tool: "write", input: { path: "a", content: report("s5", 60) }, output: "ok" };
      const wrote: Message = { id: "m", role: "assistant", parts: [words, ...step("x", long).parts] };
      const ofWrote = (message: Message) =>
        editsOf([message, ...steps(8)], 600).filter((edit) => "messageId" in edit && edit.messageId === "m");
      expect(ofWrote(wrote)).toMatchObject([
        { type: "hide-message", stage: "keep-lines", reason: "pruned", omitted: { handle: "m" } },
      ]);
      const unseen: Part = { ...(step("y").parts[0] as ToolPart), agentVisible: false };
      expect(ofWrote({ ...wrote, parts: [...wrote.parts, unseen] })).toMatchObject([
        { type: "hide-message" },
      ]);
      const opaque: Part = { type: "opaque", name: "approval" };
      expect(ofWrote({ ...wrote, parts: [...wrote.parts, opaque] })).toEqual([]);
    });
  });

  it("can be repeated as the conversation grows", () => {
    let messages: Transcript = [user("u1", "go")];
    for (let round = 0; round < 5; round++) {
      const more = steps(10).map((message) => ({ ...message, id: `${message.id}-${round}` }));
      messages = kept([...messages, ...more]);
      const chars = project(messages).reduce((sum, message) => sum + charsOf(message), 0);
      expect(chars).toBeLessThan(4_000 + 3 * report("s1", 60).length);
    }
  });

  it("says everything that is wrong with its options", () => {
    expect(() => keepLines({ keepChars: -1, protectResults: Number.NaN })).toThrow(
      /keepChars is -1.*protectResults is NaN/s,
    );
  });

  it("fills the budget with the newest of results whose rows are all alike, and leaves a handle of the others", () => {
    const rows = Array.from({ length: 400 }, (_, row) => `2026-01-01,${row},ok`).join("\n");
    const alike = Array.from({ length: 30 }, (_, index) => step(`s${index}`, { output: rows }));
    const left = kept(alike, { keepChars: 60_000 });
    expect(charsSent(left)).toBeGreaterThan(55_000);
    expect(charsSent(left)).toBeLessThanOrEqual(60_000);
    const outputs = project(left).flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "tool" ? [outcomeText(part.outcome)] : [])),
    );
    expect(outputs.at(-3)).toContain("2026-01-01,399,ok");
    for (const [index, output] of outputs.entries())
      if (output !== rows) expect(output).toContain(`[whole result: s${index}/0]`);
  });

  it("makes no text longer, says what it leaves out, and leaves nothing that a provider would refuse", () => {
    fc.assert(
      fc.property(anyOpenCodeMessages, fc.nat(2_000), fc.nat(3), (wire, keepChars, protectResults) => {
        const before = deepFreeze(opencode.decode(wire));
        const { transcript, edits } = runStages(before, [keepLines({ keepChars, protectResults })]);
        for (const edit of edits) {
          expect(edit.omitted?.chars).toBeGreaterThanOrEqual(0);
          if (edit.type !== "replace-part" || edit.part.type !== "tool") continue;
          const part = before.find(({ id }) => id === edit.messageId)?.parts[edit.partIndex] as ToolPart;
          expect(edit.part.input).toBe(part.input);
          if (edit.reason === "pruned") continue;
          expect(outcomeText(edit.part.outcome).length).toBeLessThan(outcomeText(part.outcome).length);
        }
        expect(charsSent(transcript)).toBeLessThanOrEqual(charsSent(before));
        for (const [index, message] of transcript.entries())
          for (const [place, part] of message.parts.entries())
            if (part.type === "opaque") expect(part).toBe(before[index]?.parts[place]);
        const repaired = runStages(transcript, [repairPairing]).transcript;
        expect(findFaults(repaired)).toEqual([]);
      }),
    );
  });
});
