import { describe, expect, it } from "vitest";
import { createFakeClock, createFakeSummarizer } from "../../test/rig/fakes.ts";
import { step, user } from "../../test/rig/session.ts";
import type { Message } from "../transcript/message.ts";
import type { SessionOptions } from "./options.ts";
import { createSession } from "./session.ts";

const TURNS = 400;

/** How often the content of a message of the first half is read in a turn of the second half. */
async function readsATurn(options: SessionOptions): Promise<number> {
  const session = createSession(
    { clock: createFakeClock(), summarizer: createFakeSummarizer("It went well.") },
    { limits: { contextTokens: 200_000, outputTokens: 8_000 }, ...options },
  );
  let reads = 0;
  let watched = 0;
  const watch = (message: Message): Message => {
    const { parts } = message;
    watched++;
    return {
      ...message,
      get parts() {
        reads++;
        return parts;
      },
    };
  };
  for (let turn = 0; turn < TURNS; turn++) {
    if (turn === TURNS / 2) reads = 0;
    const isOld = turn < TURNS / 2;
    if (turn % 5 === 0) session.append(isOld ? watch(user(`u${turn}`, "go on")) : user(`u${turn}`, "go on"));
    session.append(step(`s${turn}`, `line ${turn}`));
    await session.prepare({ moment: "after-turn" });
    session.projection();
  }
  return reads / watched / (TURNS / 2);
}

describe("a turn of a long session", () => {
  it.each<{ name: string; options: SessionOptions }>([
    { name: "with the defaults", options: {} },
    { name: "as documented", options: { profile: "documented" } },
    // Summaries have to be asked for in the default profile.
    { name: "with summaries in the background", options: { compaction: { toolSummaryStrategy: "llm" } } },
  ])("does not read again what was said long before: $name", async ({ options }) => {
    expect(await readsATurn(options)).toBeLessThan(1.5);
  });
});
