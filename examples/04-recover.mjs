// A provider refuses a request as too long: make it smaller step by step, send it again, and say so if nothing helps.
import assert from "node:assert/strict";
import { createSession, createSystemClock, estimateContextTokens } from "carryover";

const WINDOW_TOKENS = 8_000;
const clock = createSystemClock();
const session = createSession({ clock }, { limits: { contextTokens: 40_000, outputTokens: 1_000 } });

/** A provider whose window is smaller than the model card says. */
function send(messages) {
  const { tokens } = estimateContextTokens(messages, { estimator: "calibrated", epochStartIndex: Infinity });
  if (tokens > WINDOW_TOKENS)
    throw Object.assign(new Error(`prompt is too long: ${tokens} tokens > ${WINDOW_TOKENS} maximum`), {
      status: 400,
    });
  return {
    id: "answer",
    role: "assistant",
    finish: "stop",
    parts: [{ type: "text", text: "All tests pass now." }],
  };
}

const log = (name) =>
  Array.from({ length: 900 }, (_, line) => `${name} ${line}: compiled, no warnings`).join("\n");
const call = (id, output) => ({
  id,
  role: "assistant",
  finish: "tool-calls",
  parts: [
    {
      type: "tool",
      callId: `${id}-call`,
      tool: "bash",
      input: { command: `make ${id}` },
      outcome: { status: "done", output, attachments: [] },
    },
  ],
});
for (const id of ["reader", "writer", "printer"]) {
  session.append({ id: `ask-${id}`, role: "user", parts: [{ type: "text", text: `Build the ${id}.` }] });
  session.append(call(id, log(id)));
}
session.append({ id: "last", role: "user", parts: [{ type: "text", text: "Do all tests pass?" }] });

const steps = [];
let answer;
while (answer === undefined) {
  const action = await session.prepare();
  assert.notEqual(action.type, "give-up", action.message);
  try {
    answer = send(session.messages());
  } catch (error) {
    const report = session.onProviderError(error);
    steps.push(report.class);
    console.log(`Refused: ${report.message}`);
  }
}
for (const { reason, tokensBefore, tokensAfter } of session.ledger())
  console.log(`  ${reason}: ${tokensBefore} -> ${tokensAfter} tokens`);
session.append(answer);

assert.deepEqual(steps, ["context_overflow"]);
assert.equal(session.messages().at(-1).id, "answer");
assert.ok(JSON.stringify(session.messages()).includes("Do all tests pass?"));

// The window that the provider named is remembered, and what went can be recalled.
assert.equal(session.status().contextWindowTokens, WINDOW_TOKENS);
const recalled = await session.recall("reader/0", { fromLine: 500, toLine: 500 });
assert.ok(recalled.status === "found" && recalled.text.startsWith("reader 499"));

// An error that a smaller request cannot cure is left alone.
assert.equal(session.onProviderError(new Error("Internal server error")).recovery, "none");
assert.equal(session.nextAction().type, "none");
console.log("Answered after one recovery.");
