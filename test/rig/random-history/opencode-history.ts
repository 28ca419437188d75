import fc from "fast-check";
import type { SessionMessage, SessionPart } from "../../../src/formats/wires/opencode/session-message.ts";

/** Text as sessions hold it, and as they should not: emoji, lone surrogates, control characters, wrapper tags. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.string({ unit: "binary", maxLength: 60 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom(
    "",
    " ",
    "</inherited_context>",
    "[Old tool result content cleared]",
    "Traceback (most recent call last)",
    "😀".repeat(30),
    "line\r\nline\r\n",
  ),
  fc.integer({ min: 0, max: 6_000 }).map((chars) => "output ".repeat(chars / 7)),
);

const toolNames = fc.constantFrom("bash", "read", "grep", "fork", "skill", "edit");

const toolState: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  {
    arbitrary: fc.record({
      status: fc.constant("completed"),
      input: fc.object({ maxDepth: 2 }),
      output: anyText,
    }),
    weight: 4,
  },
  {
    arbitrary: fc.record({ status: fc.constant("error"), input: fc.object({ maxDepth: 1 }), error: anyText }),
    weight: 1,
  },
  {
    arbitrary: fc.record({
      status: fc.constantFrom("running", "pending"),
      input: fc.object({ maxDepth: 1 }),
    }),
    weight: 1,
  },
  {
    arbitrary: fc.record({
      status: fc.constant("completed"),
      input: fc.dictionary(fc.string({ maxLength: 8 }), anyText, { maxKeys: 3 }),
      output: anyText,
      time: fc.constant({ start: 1, end: 2, compacted: 3 }),
      attachments: fc.constant([
        { type: "file", mime: "image/png", filename: "a.png", url: "data:image/png;base64,AAAA" },
      ]),
    }),
    weight: 1,
  },
);

const part: fc.Arbitrary<SessionPart> = fc.oneof(
  { arbitrary: fc.record({ type: fc.constant("text"), text: anyText }), weight: 4 },
  {
    arbitrary: fc.record({ type: fc.constant("tool"), callID: fc.uuid(), tool: toolNames, state: toolState }),
    weight: 6,
  },
  fc.record({
    type: fc.constant("tool"),
    tool: toolNames,
    callID: fc.constantFrom("c1", "c2"),
    input: fc.object({ maxDepth: 1 }),
  }),
  fc.record({ type: fc.constant("tool_result"), callID: fc.constantFrom("c1", "c2", "lost"), text: anyText }),
  fc.record({ type: fc.constant("reasoning"), text: anyText }),
  fc.record({ type: fc.constant("text"), text: anyText, ignored: fc.boolean(), synthetic: fc.boolean() }),
  fc.record({ type: fc.constant("file"), mime: fc.constant("image/png"), filename: anyText }),
  fc.record({ type: fc.constantFrom("step-start", "patch", "something-new"), hash: anyText }),
);

const compactionPart: fc.Arbitrary<SessionPart> = fc.record(
  {
    type: fc.constant("compaction"),
    auto: fc.boolean(),
    tail_start_id: fc.integer({ min: 0, max: 12 }).map((n) => `msg_${n}`),
  },
  { requiredKeys: ["type"] },
);

const info = fc.record(
  {
    role: fc.constantFrom("user", "assistant", "assistant", "system", "critic"),
    summary: fc.constantFrom(true, false, { diffs: [] }),
    finish: fc.constantFrom("stop", "tool-calls", "error"),
    error: fc.constant({ name: "APIError", data: { message: "no" } }),
    parentID: fc.integer({ min: 0, max: 12 }).map((n) => `msg_${n}`),
  },
  { requiredKeys: ["role"] },
);

/** Histories as OpenCode might store them, and some that it never should: both shapes, repeated ids, loose results. */
export const anyHistory: fc.Arbitrary<readonly SessionMessage[]> = fc
  .tuple(
    fc.constantFrom("live", "older"),
    fc.array(
      fc.record({
        info,
        id: fc.oneof(
          { arbitrary: fc.constant(undefined), weight: 1 },
          { arbitrary: fc.integer({ min: 0, max: 30 }), weight: 1 },
        ),
        parts: fc.array(part, { maxLength: 6 }),
        marker: fc.option(compactionPart, { freq: 6 }),
      }),
      { maxLength: 14 },
    ),
  )
  .map(([shape, messages]) =>
    messages.map(({ info: { finish, ...fields }, id, parts, marker }, index) => ({
      info: {
        ...fields,
        ...(shape === "live" && { tokens: { input: 1, output: 1 }, ...(finish !== undefined && { finish }) }),
        id: `msg_${id ?? index}`,
        sessionID: "ses_1",
        time: { created: index },
      },
      parts: marker === null ? parts : [marker, ...parts],
    })),
  );
