import type { LanguageModelV3 } from "@ai-sdk/provider";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { carryover } from "../../src/ai-sdk.ts";
import { asArray, asObject } from "../../src/text/json.ts";
import { findApiFaults, modelOf, RECORDED_APIS, type RecordedApi } from "../rig/ai-sdk-requests.ts";
import { runs } from "../rig/runs.ts";
import { anyConversation, type Conversation, requestsOf } from "./harness/random-conversation.ts";

describe.each(RECORDED_APIS)("a conversation of many turns on its way to %s", (api) => {
  it("no request has a fault, nor two answers in a row", async () => {
    await fc.assert(
      fc.asyncProperty(anyConversation, (conversation) => play(api, conversation)),
      { numRuns: runs(2_000) },
    );
  });
});

async function play(api: RecordedApi, conversation: Conversation): Promise<void> {
  const bodies: unknown[] = [];
  const base = modelOf(api, (body) => {
    bodies.push(body);
    return { text: SUMMARY, inputTokens: Math.ceil(JSON.stringify(body).length / 4) };
  });
  const { windowTokens, representation, prune } = conversation;
  const { model } = carryover(base as never, {
    limits: { contextTokens: windowTokens, outputTokens: 500 },
    representation,
    prune,
  });
  for (const messages of requestsOf(conversation)) {
    await (model as LanguageModelV3).doGenerate({ prompt: [...messages] });
  }
  for (const body of bodies) {
    expect(findApiFaults(api, body)).toEqual([]);
    expect(answersInARow(body)).toEqual([]);
  }
}

const SUMMARY = "## Goal\nFind the port.\n## Progress\nTwo files were read.\n## Next steps\nRead on.";

/** The places of answers right behind another one. */
function answersInARow(body: unknown): readonly number[] {
  const { messages, contents } = asObject(body);
  const turns = asArray(messages ?? contents).map((turn) => asObject(turn).role);
  const isAnswer = (role: unknown): boolean => role === "assistant" || role === "model";
  return turns.flatMap((role, index) => (isAnswer(role) && isAnswer(turns[index - 1]) ? [index] : []));
}
