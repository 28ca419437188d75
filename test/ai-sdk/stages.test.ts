import { generateText, stepCountIs, tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { carryover } from "../../src/ai-sdk.ts";
import type { Edit } from "../../src/index.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import type { Transcript } from "../../src/transcript/message.ts";
import { PROVIDERS, startScriptedProvider } from "./harness/scripted-provider.ts";
import { toolText } from "./harness/tool-texts.ts";

const STEPS = 12;

/** Clears the outputs of `weather` but the newest: older ones are of no use. */
async function newestWeather(transcript: Transcript): Promise<readonly Edit[]> {
  const results = transcript.flatMap(({ id, parts }) =>
    parts.flatMap((part, partIndex) =>
      part.type === "tool" && part.tool === "weather" ? [{ messageId: id, partIndex }] : [],
    ),
  );
  return results
    .slice(0, -1)
    .map((place) => ({ type: "hide-part", what: "output", ...place, stage: "weather", reason: "outdated" }));
}

// Set, because there is no stage by default; the twin is what is sent without it.
it.each(PROVIDERS)("a stage of one's own decides what is sent, with the AI SDK: %s", async (name) => {
  for (const stages of [[newestWeather], []]) {
    const provider = await startScriptedProvider({
      windowTokens: 100_000,
      answer: ({ count }) =>
        count === STEPS
          ? { type: "answer", text: "Done." }
          : { type: "answer", text: `Step ${count}.`, calls: [{ tool: "weather", input: { day: count } }] },
    });
    const events: SessionEvent[] = [];
    const { model, tools, session } = carryover(provider.model(name), {
      stages,
      onEvent: (event) => events.push(event),
    });
    let seed = 0;
    const weather = tool({
      inputSchema: z.object({ day: z.number() }),
      execute: () => `weather-${seed} ${toolText(++seed, 500)}`,
    });
    const { text } = await generateText({
      model,
      tools: { weather, ...tools },
      prompt: "How is the weather?",
      stopWhen: stepCountIs(STEPS + 1),
      maxRetries: 0,
      providerOptions: { openai: { store: false } },
    });
    await provider.stop();
    expect(text).toBe("Done.");
    const sent = provider.server.requests.map(({ body }) => JSON.stringify(body).match(/weather-\d+/g) ?? []);
    const isEdited = stages.length > 0;
    expect(sent.slice(1).map((outputs) => outputs.length)).toEqual(
      Array.from({ length: STEPS }, (_, index) => (isEdited ? 1 : index + 1)),
    );
    expect(sent.at(-1)?.at(-1)).toBe(`weather-${STEPS - 1}`);
    expect([provider.refusals(), provider.faults()]).toEqual([0, []]);
    expect(session.ledger()).toHaveLength(isEdited ? STEPS - 1 : 0);
    expect(events.filter((event) => event.type === "warning")).toEqual([]);
  }
});
