// An agent on the AI SDK whose tools print far more than its model's window holds: it reads forty logs all the same.
import assert from "node:assert/strict";
import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { carryover } from "carryover/ai-sdk";
import { z } from "zod";

// Any model of any provider goes here; this one is scripted, so that the example needs no key.
const base = scriptedModel();

// One for each conversation. Persist what onCompact hands over next to your messages.
let saved;
const { model, tools, session } = carryover(base, {
  limits: { contextTokens: 32_000, outputTokens: 2_000 },
  pins: [{ text: "Never restart the database." }],
  onCompact: ({ state }) => {
    saved = JSON.stringify(state);
  },
});

const readLog = tool({
  description: "Reads the log of a service.",
  inputSchema: z.object({ service: z.number() }),
  execute: ({ service }) =>
    Array.from({ length: 800 }, (_, line) => `service ${service}, line ${line}: request handled`).join("\n"),
});

const messages = [{ role: "user", content: "Read all forty logs. Never restart the database." }];
const answer = await generateText({
  model,
  tools: { readLog, ...tools },
  messages,
  stopWhen: stepCountIs(60),
});
const { text, steps } = answer;
// What all steps said: `ai` 6 has it under another name, and under that name 7 has the last step alone.
const { responseMessages = answer.response.messages } = answer;
console.log(`${steps.length} steps: ${text}`);
assert.equal(text, "All forty logs are clean.");

// Every request stayed within the window, and what was pinned stayed in every one of them.
const sizes = base.doGenerateCalls.map(({ prompt }) => JSON.stringify(prompt).length);
const total = messages.concat(responseMessages).reduce((sum, each) => sum + JSON.stringify(each).length, 0);
console.log(`${total} characters of history, at most ${Math.max(...sizes)} in a request, after:`);
for (const [step, count] of Object.entries(countSteps())) console.log(`  ${count} x ${step}`);
assert.ok(Math.max(...sizes) < 32_000 * 4);
assert.ok(total > 10 * Math.max(...sizes));
for (const { prompt } of base.doGenerateCalls)
  assert.ok(JSON.stringify(prompt).includes("Never restart the database."));

// The model read a line again that had left its window long before.
const recalled = steps.flatMap(({ toolResults }) =>
  toolResults.filter(({ toolName }) => toolName === "recall"),
);
assert.ok(recalled[0].output.includes("service 3, line 400: request handled"));

// Tomorrow, in another process: the same messages and what was saved give the same window.
const tomorrow = carryover(scriptedModel(), {
  limits: { contextTokens: 32_000, outputTokens: 2_000 },
  restore: JSON.parse(saved),
});
await generateText({
  model: tomorrow.model,
  tools: { readLog, ...tomorrow.tools },
  messages: [...messages, ...responseMessages, { role: "user", content: "Thank you." }],
});
assert.deepEqual(tomorrow.session.toJSON().batches, session.toJSON().batches);
console.log("Restored: the window is what it was.");

function countSteps() {
  const counts = {};
  for (const { step } of session.ledger()) counts[step] = (counts[step] ?? 0) + 1;
  return counts;
}

/** Reads forty logs one after another, looks something up again in between, and writes a summary when it is asked for one. */
function scriptedModel() {
  let service = 0;
  const usage = { inputTokens: { total: undefined }, outputTokens: { total: undefined } };
  const answer = (content, reason) => ({
    content: [content],
    finishReason: { unified: reason, raw: reason },
    usage,
    warnings: [],
  });
  const call = (toolName, input) =>
    answer(
      {
        type: "tool-call",
        toolCallId: `call-${toolName}-${service}`,
        toolName,
        input: JSON.stringify(input),
      },
      "tool-calls",
    );
  return new MockLanguageModelV3({
    async doGenerate({ prompt }) {
      if (JSON.stringify(prompt.at(-1)).includes("Thank you."))
        return answer({ type: "text", text: "You are welcome." }, "stop");
      service++;
      if (service <= 40) return call("readLog", { service });
      if (service === 41) return call("recall", { search: "service 3, line 400:" });
      return answer({ type: "text", text: "All forty logs are clean." }, "stop");
    },
    async doStream() {
      const summary = `## Goal\nRead all forty logs.\n## Progress\nThe first ${service} are clean.`;
      const parts = [
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: summary },
        { type: "text-end", id: "1" },
        { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
      ];
      return { stream: ReadableStream.from(parts) };
    },
  });
}
