import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aiSdk } from "../../src/formats/wires/ai-sdk/ai-sdk.ts";
import type { AiSdkWire } from "../../src/formats/wires/ai-sdk/ai-sdk-message.ts";
import { runStages } from "../../src/transcript/edit.ts";
import { CONVERSATION, findApiFaults, RECORDED_APIS, recordRequest } from "../rig/ai-sdk-requests.ts";
import { randomMessagesToSend } from "../rig/random-history/random-messages-to-send.ts";
import { runs } from "../rig/runs.ts";
import { repairRequest, WIRE_STAGES } from "../rig/wire-laws.ts";

const OPTIONS: readonly Readonly<Record<string, unknown>>[] = [{}, { openai: { store: false } }];

describe.each(RECORDED_APIS)("edited messages on their way to %s", (api) => {
  it.each(WIRE_STAGES.map((stage, index) => ({ name: stage.name || `edits ${index + 1}`, stage })))(
    "the real provider makes a request without fault of them: $name",
    async ({ stage }) => {
      const wire = CONVERSATION as AiSdkWire;
      const { edits } = runStages(aiSdk.decode(wire), [stage, repairRequest], { at: 0 });
      const messages = aiSdk.apply(wire, edits, { at: 0 }) as unknown as typeof CONVERSATION;
      expect(aiSdk.faults(messages as AiSdkWire)).toEqual([]);
      for (const providerOptions of OPTIONS) {
        expect(findApiFaults(api, await recordRequest(api, { messages, providerOptions }))).toEqual([]);
      }
    },
  );
});

describe.each(RECORDED_APIS)("encoded messages on their way to %s", (api) => {
  it.each(WIRE_STAGES.map((stage, index) => ({ name: stage.name || `edits ${index + 1}`, stage })))(
    "the real provider makes a request without fault of what is left of a conversation: $name",
    async ({ stage }) => {
      const { transcript } = runStages(aiSdk.decode(CONVERSATION as AiSdkWire), [stage], { at: 0 });
      const messages = aiSdk.encode(transcript);
      expect(aiSdk.faults(messages)).toEqual([]);
      for (const providerOptions of OPTIONS) {
        expect(findApiFaults(api, await recordRequest(api, { messages, providerOptions }))).toEqual([]);
      }
    },
  );

  it("the real provider makes a request without fault of them", async () => {
    const check = async (messages: typeof CONVERSATION): Promise<void> => {
      const request = await recordRequest(api, { messages, allowSystemInMessages: true });
      expect(findApiFaults(api, request)).toEqual([]);
    };
    const property = fc.asyncProperty(randomMessagesToSend(), (transcript) =>
      check(aiSdk.encode(transcript)),
    );
    await fc.assert(property, { numRuns: runs(500) });
  });
});
