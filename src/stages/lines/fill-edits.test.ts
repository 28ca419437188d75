import { describe, expect, it } from "vitest";
import { agent, call, talk, user } from "../../../test/rig/fill-talk.ts";
import type { Edit } from "../../transcript/edit.ts";
import type { Transcript } from "../../transcript/message.ts";
import type { FilePart, OutputCut, ToolPart } from "../../transcript/part.ts";
import { fillEdits } from "./fill.ts";
import { readRows } from "./rows.ts";

interface Chosen {
  /** Lines that stay; of a part of which none stays nothing is shown. */
  readonly keep: readonly string[];
  /** From which part on everything stays as it is. */
  readonly firstWholePart?: number;
}

function edits(transcript: Transcript, { keep, firstWholePart }: Chosen): readonly Edit[] {
  const fill = readRows(transcript);
  const isKept = Uint8Array.from(
    fill.segments.flatMap(({ text, firstRow, endRow }) =>
      Array.from({ length: endRow - firstRow }, (_, index) =>
        keep.includes(text.slice(fill.rows.start[firstRow + index], fill.rows.end[firstRow + index])) ? 1 : 0,
      ),
    ),
  );
  const isShown = Uint8Array.from(fill.parts, ({ firstSegment, endSegment }) =>
    fill.segments
      .slice(firstSegment, endSegment)
      .some(({ firstRow, endRow }) => isKept.subarray(firstRow, endRow).includes(1))
      ? 1
      : 0,
  );
  return fillEdits(fill, { isKept, isShown, firstWholePart: firstWholePart ?? fill.parts.length });
}

const HEAD = "[Tool: bash] {}";
const withCut = (part: ToolPart, cut: OutputCut): ToolPart => ({ ...part, cut });

describe("fillEdits", () => {
  it("hides a message of which nothing stays", () => {
    const transcript = talk(user("one\ntwo", "three"), user("four"), user("five"));
    expect(edits(transcript, { keep: ["four"] })).toEqual([
      {
        type: "hide-message",
        messageId: "m1",
        stage: "fill-budget",
        reason: "over-budget",
        omitted: { chars: "one\ntwothree".length, handle: "m1" },
      },
      {
        type: "hide-message",
        messageId: "m3",
        stage: "fill-budget",
        reason: "over-budget",
        omitted: { chars: "five".length, handle: "m3" },
      },
    ]);
  });

  it("hides a part of which nothing stays where another of its message does", () => {
    expect(edits(talk(agent("said", call("bash", {}, "one\ntwo"))), { keep: ["said"] })).toEqual([
      {
        type: "hide-part",
        what: "part",
        messageId: "m1",
        partIndex: 1,
        stage: "fill-budget",
        reason: "over-budget",
        omitted: { chars: "{}one\ntwo".length, handle: "m1/1" },
      },
    ]);
  });

  it("changes nothing where everything stays, nor from the first whole part on", () => {
    const file: FilePart = { type: "file", mime: "image/png" };
    const transcript = talk(user("one\ntwo", file), agent(call("bash", {}, "three")));
    expect(edits(transcript, { keep: ["one", "two", "[File: image/png]", HEAD, "three"] })).toEqual([]);
    expect(edits(transcript, { keep: [], firstWholePart: 0 })).toEqual([]);
    expect(edits(transcript, { keep: [], firstWholePart: 2 }).map(({ type }) => type)).toEqual([
      "hide-message",
    ]);
    const first = edits(transcript, { keep: ["one"], firstWholePart: 1 });
    expect(first).toHaveLength(1);
    expect(first[0]).toMatchObject({ type: "replace-part", partIndex: 0 });
  });

  it("leaves of a text the lines that stay", () => {
    const text = "one\ntwo\n\nthree is long\nfour is longer";
    const kept = "one\ntwo\n[...]";
    expect(edits(talk(user(text)), { keep: ["one", "two"] })).toEqual([
      {
        type: "replace-part",
        messageId: "m1",
        partIndex: 0,
        stage: "fill-budget",
        reason: "selected-lines",
        omitted: { chars: text.length - kept.length, handle: "m1/0" },
        part: {
          type: "text",
          text: kept,
          cut: {
            method: "lines",
            originalChars: text.length,
            omittedChars: text.length - kept.length,
            limitChars: kept.length,
          },
        },
      },
    ]);
  });

  it("says of a text that was cut before how long it was at first", () => {
    const cut = { method: "head", originalChars: 900, omittedChars: 1, limitChars: 1 } as const;
    const transcript = talk(user({ type: "text", text: "one\nand another line", cut }));
    const [edit] = edits(transcript, { keep: ["one"] });
    expect(edit).toMatchObject({
      part: { cut: { originalChars: 900, omittedChars: 900 - "one\n[...]".length } },
    });
  });

  it("leaves of an output the lines that stay, and nothing else changed", () => {
    const part = call("bash", {}, "one\ntwo lines further\nthree");
    const [edit, ...others] = edits(talk(agent("said", part)), { keep: ["said", HEAD, "one"] });
    const kept = "one\n[...]";
    expect(others).toEqual([]);
    expect(edit).toEqual({
      type: "replace-part",
      messageId: "m1",
      partIndex: 1,
      stage: "fill-budget",
      reason: "selected-lines",
      omitted: { chars: "one\ntwo lines further\nthree".length - kept.length, handle: "m1/1" },
      part: {
        ...part,
        outcome: { status: "done", output: kept, attachments: [] },
        cut: {
          method: "lines",
          originalChars: "one\ntwo lines further\nthree".length,
          omittedChars: "one\ntwo lines further\nthree".length - kept.length,
          limitChars: kept.length,
        },
      },
    });
  });

  it("leaves of an error the lines that stay", () => {
    const failed: ToolPart = {
      ...call("bash", {}, ""),
      outcome: { status: "failed", error: "one\ntwo\nthree" },
    };
    const [edit] = edits(talk(agent(failed)), { keep: ["two"] });
    expect(edit).toMatchObject({ part: { outcome: { status: "failed", error: "[...]\ntwo\n[...]" } } });
  });

  it("keeps what an earlier cut of an output says", () => {
    const cut = {
      method: "head",
      originalChars: 900,
      omittedChars: 1,
      limitChars: 1,
      archivedAs: "m9",
    } as const;
    const [edit] = edits(talk(agent(withCut(call("bash", {}, "one\ntwo\nthree"), cut))), { keep: ["two"] });
    expect(edit).toMatchObject({ part: { cut: { archivedAs: "m9", method: "lines", originalChars: 900 } } });
  });

  it("never says that less than nothing was left out", () => {
    const [edit] = edits(talk(agent(call("bash", {}, "a\nb"))), { keep: [HEAD] });
    expect(edit).toMatchObject({
      part: { outcome: { output: "[...]" }, cut: { omittedChars: 0, limitChars: 5 } },
      omitted: { chars: 0 },
    });
  });

  it("leaves of each long string of an input the lines that stay", () => {
    const input = { path: "a", old: "one\ntwo lines further\nthree", new: "four\nfive lines further", n: 7 };
    const part = call("edit", input, "six\nseven lines further\neight");
    const [edit] = edits(talk(agent(part)), { keep: ["one", "four", "five lines further", "six"] });
    const changed = { path: "a", old: "one\n[...]", new: input.new, n: 7 };
    const preview = `{"path":"a","old":"one\n[...]","new":"four\nfive lines further","n":7}`;
    const originalChars = JSON.stringify(input).length;
    expect(edit).toMatchObject({
      part: {
        input: changed,
        inputCut: {
          method: "lines",
          preview,
          originalChars,
          omittedChars: originalChars - preview.length,
          limitChars: preview.length,
        },
        outcome: { output: "six\n[...]" },
      },
      omitted: {
        chars:
          originalChars -
          JSON.stringify(changed).length +
          ("six\nseven lines further\neight".length - "six\n[...]".length),
      },
    });
  });

  it("shows an input with long strings as it reads also where all of it stays", () => {
    const input = { command: "one\ntwo" };
    const [edit, ...others] = edits(talk(agent(call("bash", input, "three"))), {
      keep: ["one", "two", "three"],
    });
    expect(others).toEqual([]);
    expect(edit).toMatchObject({
      part: { input, inputCut: { preview: '{"command":"one\ntwo"}' }, outcome: { output: "three" } },
      omitted: { chars: 0 },
    });
  });
});
