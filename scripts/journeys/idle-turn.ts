import { readFileSync } from "node:fs";
import { opencode } from "../../src/formats/wires/opencode/opencode.ts";
import { createSession, createSystemClock } from "../../src/index.ts";
import type { Journey } from "./journey.ts";

/** A turn without anything to do: observe one more message, prepare, ask for the window. */
export const travel: Journey = async ({ recordFunctions, root }) => {
  const { messages } = JSON.parse(readFileSync(`${root}examples/sessions/opencode-session.json`, "utf8"));
  const transcript = opencode.decode(messages);
  const limits = { contextTokens: 1_000_000, outputTokens: 8_000 };
  const session = createSession({ clock: createSystemClock() }, { limits });
  session.observe(transcript.slice(0, -1));
  await session.prepare();
  session.messages();
  const turn = await recordFunctions(import.meta.url, async () => {
    session.observe(transcript);
    const { type } = await session.prepare();
    if (type !== "none") throw new Error(`the turn was not idle: ${type}`);
    session.messages();
  });
  return [turn];
};
