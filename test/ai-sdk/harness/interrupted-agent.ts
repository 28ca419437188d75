import { join } from "node:path";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, type ModelMessage, stepCountIs, tool } from "ai";
import { z } from "zod";
import { carryover } from "../../../src/ai-sdk.ts";
import { createFileJournal } from "../../../src/stores/files/journal.ts";
import { createFileOutputStore } from "../../../src/stores/files/output-store.ts";
import { toolText } from "./tool-texts.ts";

// A small agent as people write them: it has no handler for Ctrl-C, and what it knows is in its store.
const [url = "", folder = ""] = process.argv.slice(2);
const base = createOpenAICompatible({ name: "scripted", baseURL: url, includeUsage: true })("m");
const { model, tools } = carryover(base, {
  limits: { contextTokens: 20_000, outputTokens: 2_000 },
  store: {
    journal: createFileJournal({ root: join(folder, "journal"), session: "agent" }),
    outputs: createFileOutputStore({ root: join(folder, "outputs") }),
  },
});
let listed = 0;
const list = tool({
  inputSchema: z.object({ folder: z.string() }),
  execute: () => toolText(++listed, 40_000),
});
const messages: ModelMessage[] = [{ role: "user", content: "List every folder." }];
let answered: ModelMessage[] = [];
await generateText({
  model,
  tools: { list, ...tools },
  messages,
  stopWhen: stepCountIs(100),
  onStepFinish({ response }) {
    // One version gives all messages so far, the next one only those of the step.
    const isAll = JSON.stringify(response.messages.slice(0, answered.length)) === JSON.stringify(answered);
    answered = isAll ? response.messages : [...answered, ...response.messages];
    process.send?.([...messages, ...answered]);
  },
});
