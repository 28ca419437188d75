import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../../test/rig/fakes.ts";
import { createHandOver } from "./conversation.ts";

const changed = () => ({ state: { v: 2, batches: [] }, messages: [] }) as const;

describe("onCompact", () => {
  it("that hangs holds a request up for ten seconds, once for each edit, and costs a warning", async () => {
    const clock = createFakeClock(0);
    const warnings: string[] = [];
    let calls = 0;
    const handOver = createHandOver({
      onCompact: () => {
        calls++;
        return new Promise(() => {});
      },
      changed,
      clock,
      onWarning: (code, message) => warnings.push(`${code}: ${message}`),
    });
    handOver.edited();
    await clock.runUntilDone(handOver.now());
    await handOver.now();
    expect([calls, clock.now()]).toEqual([1, 10_000]);
    expect(warnings).toEqual(["not-persisted: onCompact did not end in time"]);
  });

  it("that throws is called again with the next request", async () => {
    let calls = 0;
    const handOver = createHandOver({
      onCompact: () => {
        if (++calls === 1) throw new Error("disk full");
      },
      changed,
      clock: createFakeClock(),
      onWarning: () => undefined,
    });
    handOver.edited();
    for (let request = 0; request < 3; request++) await handOver.now();
    expect(calls).toBe(2);
  });
});
