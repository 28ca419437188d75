import { describe, expect, it } from "vitest";
import { agent, call, talk, user } from "../../../test/rig/fill-talk.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { FilePart, ToolPart } from "../../transcript/part.ts";
import { readRows } from "./rows.ts";

const PICTURE: FilePart = { type: "file", mime: "image/png" };
const pending: ToolPart = { ...call("bash", {}, ""), outcome: { status: "pending" } };
const hidden = (turn: Omit<Message, "id">): Omit<Message, "id"> => ({
  ...turn,
  metadata: { agentVisible: false },
});

/** Each text as `message/part source`, with its rows. */
function textsOf(transcript: Transcript): Readonly<Record<string, readonly string[]>> {
  const { parts, segments, rows } = readRows(transcript);
  return Object.fromEntries(
    parts.flatMap(({ message, partIndex, firstSegment, endSegment }) =>
      segments
        .slice(firstSegment, endSegment)
        .map(({ source, text, firstRow, endRow }) => [
          `${message.id}/${partIndex} ${source}`,
          Array.from({ length: endRow - firstRow }, (_, index) =>
            text.slice(rows.start[firstRow + index], rows.end[firstRow + index]),
          ),
        ]),
    ),
  );
}

describe("fillRows", () => {
  it("reads texts, files and calls, oldest first", () => {
    const transcript = talk(
      user("do\n\nit", PICTURE),
      { role: "system", parts: [{ type: "text", text: "be kind" }] },
      agent("I do", call("bash", { command: "ls\nps" }, "a\nb")),
    );
    expect(textsOf(transcript)).toEqual({
      "m1/0 user": ["do", "it"],
      "m1/1 user": ["[File: image/png]"],
      "m2/0 user": ["be kind"],
      "m3/0 agent": ["I do"],
      "m3/1 call": ['[Tool: bash] {"command":""}'],
      "m3/1 input": ["ls", "ps"],
      "m3/1 output": ["a", "b"],
    });
  });

  it("reads nothing that is hidden, blank, for the user alone, our own, or no text", () => {
    const transcript = talk(
      hidden(user("hidden")),
      user(
        { type: "text", text: "hidden", agentVisible: false },
        { type: "text", text: "for you", ignored: true },
        { type: "text", text: "ours", own: true },
        { type: "text", text: " \n " },
        { type: "reasoning", text: "hm" },
        "said",
      ),
      agent({ ...call("bash", {}, "x"), agentVisible: false }),
    );
    expect(textsOf(transcript)).toEqual({ "m2/5 user": ["said"] });
    expect(readRows(transcript).messages.map(({ id }) => id)).toEqual(["m2", "m3"]);
    expect(readRows(transcript).parts).toHaveLength(1);
  });

  it("holds the head of a call in one row, however long it is", () => {
    const input = { items: Array.from({ length: 60 }, (_, index) => `item ${index}`) };
    const { segments } = readRows(talk(agent(call("bash", input, "x\ny"))));
    expect(segments.map(({ source, firstRow, endRow }) => [source, firstRow, endRow])).toEqual([
      ["call", 0, 1],
      ["output", 1, 3],
    ]);
  });

  it("counts the results that are newer than a part, whoever's it is", () => {
    const failed: ToolPart = { ...call("bash", {}, ""), outcome: { status: "failed", error: "no" } };
    const transcript = talk(
      user("go"),
      agent("first", call("bash", {}, "a"), call("bash", {}, "b")),
      hidden(agent(call("bash", {}, "not seen"))),
      agent({ ...call("bash", {}, "not seen"), agentVisible: false }, pending, failed),
      user("end"),
    );
    const { parts } = readRows(transcript);
    expect(
      parts.map(({ message, partIndex, callsSince }) => `${message.id}/${partIndex}:${callsSince}`),
    ).toEqual(["m1/0:3", "m2/0:3", "m2/1:2", "m2/2:1", "m4/1:1", "m4/2:0", "m5/0:0"]);
  });

  it("says of each part what it takes and which message it belongs to", () => {
    const transcript = talk(
      hidden(user("hidden")),
      user("do it", PICTURE),
      agent(call("read", { path: "a.ts" }, "x")),
    );
    const { parts } = readRows(transcript);
    const [said, file, read] = parts;
    expect(said).toMatchObject({ messageNumber: 0, chars: "do it".length, headChars: 0, path: undefined });
    expect(file).toMatchObject({ messageNumber: 0, chars: 0, headChars: 0, call: undefined });
    expect(read).toMatchObject({ messageNumber: 1, path: "a.ts", chars: '{"path":"a.ts"}x'.length });
    expect(read?.headChars).toBe('[Tool: read] {"path":"a.ts"}\n[Tool result]\n'.length);
    expect(parts.map(({ firstSegment, endSegment }) => [firstSegment, endSegment])).toEqual([
      [0, 1],
      [1, 2],
      [2, 4],
    ]);
  });

  it("holds as many rows as there are lines", () => {
    const line = (index: number): string => `line ${index}`;
    const text = Array.from({ length: 5_000 }, (_, index) => line(index)).join("\n\n");
    const { rows, segments } = readRows(talk(user(text)));
    expect(rows.count).toBe(5_000);
    expect(segments[0]?.endRow).toBe(5_000);
    for (const row of [0, 1_023, 1_024, 2_048, 4_999]) {
      expect(text.slice(rows.start[row], rows.end[row])).toBe(line(row));
      expect(rows.bodyStart[row]).toBe(rows.start[row]);
      expect(rows.blankLines[row]).toBe(row === 0 ? 0 : 1);
      expect(rows.chars[row]).toBe(line(row).length + (row === 0 ? 1 : 2));
    }
  });
});
