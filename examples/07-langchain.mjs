// An agent of LangChain whose tool prints far more than its model's window holds, and a second process that goes on.
import assert from "node:assert/strict";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { carryoverMiddleware } from "carryover/langchain";
import { createAgent, tool } from "langchain";
import { z } from "zod";

/** Reads thirty logs one after another, looks something up again, and answers. Any chat model goes in its place. */
class ScriptedModel extends BaseChatModel {
  sent = [];

  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    this.sent.push(messages);
    const service = this.sent.length;
    const isAsked = messages.at(-1).text.includes("Thank you.");
    const call = (name, args) => ({ type: "tool_call", id: `call-${service}`, name, args });
    const tool_calls =
      isAsked || service > 31
        ? []
        : [
            service <= 30
              ? call("read_log", { service })
              : call("recall", { search: "service 3, line 400:" }),
          ];
    const content = tool_calls.length > 0 ? "" : isAsked ? "You are welcome." : "All thirty logs are clean.";
    const message = new AIMessage({ content, tool_calls });
    return { generations: [{ text: content, message }] };
  }
}

const readLog = tool(
  ({ service }) =>
    Array.from({ length: 800 }, (_, line) => `service ${service}, line ${line}: request handled`).join("\n"),
  { name: "read_log", description: "Reads the log of a service.", schema: z.object({ service: z.number() }) },
);

// The checkpointer keeps the messages, and beside them what was done about the window.
const checkpointer = new MemorySaver();
const create = (model) =>
  createAgent({
    model,
    tools: [readLog],
    middleware: [carryoverMiddleware({ limits: { contextTokens: 32_000, outputTokens: 2_000 } })],
    checkpointer,
  });
const thread = { configurable: { thread_id: "logs" }, recursionLimit: 100 };

const model = new ScriptedModel({});
const { messages } = await create(model).invoke(
  { messages: [{ role: "user", content: "Read all thirty logs." }] },
  thread,
);
assert.equal(messages.at(-1).text, "All thirty logs are clean.");

// Every request stayed within the window, and the thread still has every word.
const charsOf = (list) => list.reduce((sum, { text }) => sum + text.length, 0);
const largest = Math.max(...model.sent.map(charsOf));
console.log(`${charsOf(messages)} characters of history, at most ${largest} in a request`);
assert.ok(largest < 32_000 * 4);
assert.ok(charsOf(messages) > 8 * largest);

// The model read a line again that had left its window long before.
assert.ok(messages.at(-2).text.includes("service 3, line 400: request handled"));

// Tomorrow, in another process: the thread goes on with the same window.
const tomorrow = new ScriptedModel({});
await create(tomorrow).invoke({ messages: [{ role: "user", content: "Thank you." }] }, thread);
const before = model.sent.at(-1).map(({ text }) => text);
assert.deepEqual(
  tomorrow.sent[0].slice(0, before.length).map(({ text }) => text),
  before,
);
console.log("Restored: the window is what it was.");
