import { describe, expect, it } from "vitest";
import { conversationWriter } from "../../test/rig/random-history/write-history.ts";
import { WIRE_CONTRACT } from "../../test/rig/wire-laws.ts";
import { codex } from "../formats/files/codex/codex.ts";
import { formatOf } from "../formats/read-transcript.ts";
import { API_FORMATS, type FormatName, SESSION_FORMATS } from "../formats/registry.ts";
import { asObject } from "../text/unknown-value.ts";
import type { Format } from "../transcript/format.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { Part, ToolPart } from "../transcript/part.ts";
import { type FormatContract, formatLaws } from "./format-contract.ts";

type Given = Omit<FormatContract<unknown>, "expectEqual">;

/** The names of the laws that a format breaks, without the numbers of the edits. */
function brokenLaws(contract: Given): readonly string[] {
  const laws = formatLaws({
    ...contract,
    expectEqual: (actual, expected) => expect(actual).toEqual(expected),
  });
  const broken = laws.flatMap(({ name, check }) => {
    try {
      check();
      return [];
    } catch {
      return [name.replace(/ \(\d+\)$/, "")];
    }
  });
  return [...new Set(broken)];
}

describe("the laws of a format, on conversations that they make,", () => {
  it.each(Object.keys(SESSION_FORMATS) as FormatName[])("hold for %s", (name) => {
    expect(brokenLaws({ format: formatOf(name), write: conversationWriter(name) })).toEqual([]);
  });

  it.each(Object.keys(API_FORMATS) as FormatName[])("hold for %s", (name) => {
    const format = formatOf(name);
    expect(brokenLaws({ ...WIRE_CONTRACT, format, write: conversationWriter(name) })).toEqual([]);
  });
});

const NO_CHANGE = "no edits, no change";
const UNIQUE = "ids are unique";
const AGAIN = "decoding again gives the same";
const OTHER_IDS = "an edited text changes no other id";
const FIELDS = "an edit keeps the fields that are not understood";
const SAID = "everything that was said is read, in order";
const COMMUTES = "edit then decode is decode then edit";
const ANYTHING = "whatever it is given is taken";
const NO_FAULT = "repair leaves no fault";
const NO_NEW_FAULT = "an edit brings no new fault";

/** Codex's format, which keeps the laws, with one thing wrong. */
interface WrongFormat extends Partial<Format<readonly unknown[]>> {
  /** What is wrong. */
  readonly it: string;
  /** The law that says so. */
  readonly breaks: string;
}

const right = codex;
const decodeWith =
  (change: (message: Message, index: number) => readonly Message[]) =>
  (wire: readonly unknown[]): Transcript =>
    right.decode(wire).flatMap(change);
const withParts = (change: (part: Part) => readonly Part[]) =>
  decodeWith((message) => [{ ...message, parts: message.parts.flatMap(change) }]);
const withTools = (change: (part: ToolPart) => Part) =>
  withParts((part) => [part.type === "tool" ? change(part) : part]);

let decodes = 0;

const wrongFormats: readonly WrongFormat[] = [
  {
    it: "copies without an edit",
    breaks: NO_CHANGE,
    apply: (wire, edits, at) => [...right.apply(wire, edits, at)],
  },
  {
    it: "drops fields that it does not know",
    breaks: FIELDS,
    apply: (wire, edits, at) =>
      edits.length === 0
        ? wire
        : right.apply(wire, edits, at).map((line) => {
            const { type, timestamp, payload } = asObject(line);
            return { type, timestamp, payload };
          }),
  },
  {
    it: "gives all messages one id",
    breaks: UNIQUE,
    decode: decodeWith((message) => [{ ...message, id: "m" }]),
  },
  {
    it: "makes up ids",
    breaks: AGAIN,
    decode: decodeWith((message) => [{ ...message, id: `${message.id}-${decodes++}` }]),
  },
  {
    it: "makes ids of what comes later",
    breaks: OTHER_IDS,
    decode(wire) {
      const transcript = right.decode(wire);
      const { length } = JSON.stringify(transcript);
      return transcript.map((message) => ({ ...message, id: `${message.id}~${length}` }));
    },
    apply: (wire, edits, at) =>
      right.apply(
        wire,
        edits.map((edit) =>
          edit.type === "insert-message" ? edit : { ...edit, messageId: edit.messageId.replace(/~\d+$/, "") },
        ),
        at,
      ),
  },
  { it: "forgets calls", breaks: SAID, decode: withParts((part) => (part.type === "tool" ? [] : [part])) },
  {
    it: "forgets texts of the user",
    breaks: SAID,
    decode: decodeWith((message) => (message.role === "user" ? [] : [message])),
  },
  {
    it: "forgets an input",
    breaks: SAID,
    decode: withTools((part) => ({ ...part, input: {} })),
  },
  {
    it: "gives a call the result of another",
    breaks: SAID,
    decode: (wire) => {
      const transcript = right.decode(wire);
      const outcomes = transcript.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === "tool" ? part.outcome : [])),
      );
      return transcript.map((message) => ({
        ...message,
        parts: message.parts.map((part) =>
          part.type === "tool" ? { ...part, outcome: outcomes.pop() ?? part.outcome } : part,
        ),
      }));
    },
  },
  {
    it: "cuts long texts",
    breaks: SAID,
    decode: withParts((part) => [part.type === "text" ? { ...part, text: part.text.slice(0, 500) } : part]),
  },
  {
    it: "trims texts",
    breaks: SAID,
    decode: withParts((part) => [part.type === "text" ? { ...part, text: part.text.trim() } : part]),
  },
  { it: "reads backwards", breaks: SAID, decode: (wire) => right.decode(wire).toReversed() },
  {
    it: "takes the model for the user",
    breaks: SAID,
    decode: decodeWith((message) => [{ ...message, role: "user" }]),
  },
  {
    it: "writes backwards",
    breaks: COMMUTES,
    apply: (wire, edits, at) => (edits.length === 0 ? wire : right.apply(wire, edits, at).toReversed()),
  },
  {
    it: "leaves in what is hidden",
    breaks: COMMUTES,
    apply: (wire, edits, at) =>
      right.apply(
        wire,
        edits.filter(({ type }) => type !== "hide-message"),
        at,
      ),
  },
  {
    it: "ignores a new text",
    breaks: COMMUTES,
    apply: (wire, edits, at) =>
      right.apply(
        wire,
        edits.filter(({ type }) => type !== "replace-part"),
        at,
      ),
  },
  {
    it: "applies the first edit only",
    breaks: COMMUTES,
    apply: (wire, edits, at) => right.apply(wire, edits.slice(0, 1), at),
  },
  {
    it: "loses the results of calls when it writes",
    breaks: COMMUTES,
    apply: (wire, edits, at) =>
      edits.length === 0
        ? wire
        : right
            .apply(wire, edits, at)
            .filter((line) => asObject(asObject(line).payload).type !== "function_call_output"),
  },
  {
    it: "writes into what it is given",
    breaks: COMMUTES,
    apply: (wire, edits, at) => {
      if (edits.length > 0) (wire as unknown[]).push({});
      return right.apply(wire, edits, at);
    },
  },
  {
    it: "throws on what it does not know",
    breaks: ANYTHING,
    decode: (wire) => {
      if (!Array.isArray(wire)) throw new Error("no list");
      return right.decode(wire);
    },
  },
  {
    it: "finds a fault that nothing repairs",
    breaks: NO_FAULT,
    faults: () => [{ rule: "empty-text", messageId: "", text: "" }],
  },
  {
    it: "brings a fault with an edit",
    breaks: NO_NEW_FAULT,
    apply: (wire, edits, at) =>
      edits.length === 0
        ? wire
        : [
            ...right.apply(wire, edits, at),
            {
              type: "response_item",
              payload: { type: "message", role: "user", content: [{ type: "input_text", text: " " }] },
            },
          ],
  },
];

describe("a wrong format breaks a law: one that", () => {
  it.each(wrongFormats)("$it", ({ it: _, breaks, ...wrong }) => {
    const write = conversationWriter("codex");
    const format = { ...right, ...wrong } as Format<unknown>;
    expect(brokenLaws({ format, write, conversations: 5 })).toContain(breaks);
  });

  it("is tried on nothing", () => {
    expect(() => brokenLaws({ format: right as Format<unknown> })).toThrow("wire is missing");
  });
});
