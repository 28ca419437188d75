import { describe, expect, it } from "vitest";
import { createFakeClock } from "./fakes.ts";

const nobody = new AbortController().signal;

describe("createFakeClock", () => {
  it("wakes sleepers in the order of their time, and lets each run before the next", async () => {
    const clock = createFakeClock(0);
    const log: string[] = [];
    const sleep = async (name: string, ms: number): Promise<void> => {
      await clock.sleep(ms, nobody);
      log.push(`${name} at ${clock.now()}`);
    };
    void sleep("late", 30);
    void sleep("early", 10).then(() => sleep("again", 10));
    await clock.advance(25);
    expect(log).toEqual(["early at 10", "again at 20"]);
    expect([clock.now(), clock.waiting]).toEqual([25, 1]);
  });

  it("wakes a sleeper at once when it is aborted", async () => {
    const clock = createFakeClock();
    const abort = new AbortController();
    const sleeping = clock.sleep(1_000, abort.signal);
    abort.abort();
    await sleeping;
    expect(clock.waiting).toBe(0);
  });

  it("runs until work is done, and says when nothing could finish it", async () => {
    const clock = createFakeClock(0);
    await clock.runUntilDone(clock.sleep(5_000, nobody));
    expect(clock.now()).toBe(5_000);
    await expect(clock.runUntilDone(new Promise(() => {}))).rejects.toThrow("no clock can bring");
  });
});
