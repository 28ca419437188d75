import { setTimeout as sleep } from "node:timers/promises";
import { type Step, say } from "../../test/rig/model-server/step.ts";
import { SHORT_WINDOW } from "../../test/rig/opencode/sandbox.ts";
import { explanation } from "./prose.ts";
import type { Stage } from "./stage.ts";

/** A usage that is far from filling the short window. */
export const CALM = { inputTokens: 1_000, outputTokens: 50 };

/** The smallest usage at which the short window counts as full. */
export const FULL = { inputTokens: 5_990, outputTokens: 10 };

/** One turn with the model whose window is short. */
export async function ask(stage: Stage, text: string, steps: readonly Step[]): Promise<void> {
  await stage.turn({ text, model: SHORT_WINDOW }, steps);
}

/** One turn for each topic, each with an answer so long that about two and a half fit into a retained tail. */
export async function longTurns(stage: Stage, topics: readonly string[]): Promise<void> {
  for (const topic of topics) {
    await ask(stage, `Explain ${topic}.`, [say(explanation(topic, 3_000), { usage: CALM })]);
  }
}

/** A compaction on request, with this summary. */
export async function compact(stage: Stage, text: string): Promise<void> {
  stage.model.script([summary(text)]);
  await stage.opencode().summarize(stage.sessionId, SHORT_WINDOW);
  await stage.opencode().waitUntilIdle(stage.sessionId);
}

/** The step in which the model writes a summary. */
export function summary(text: string): Step {
  return say(text, { lane: "summary", usage: { inputTokens: 2_000, outputTokens: 60 } });
}

/** Returns once OpenCode has cleared an output, which it does after a turn and in the background. */
export async function untilPruned(stage: Stage): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (JSON.stringify(await stage.opencode().messages(stage.sessionId)).includes('"compacted":')) return;
    await sleep(50);
  }
  throw new Error("Nothing was pruned");
}
