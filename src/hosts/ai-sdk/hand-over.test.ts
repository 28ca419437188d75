import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../../test/rig/fakes.ts";
import { createHandOver } from "./hand-over.ts";

const changed = () => ({ state: { v: 3, batches: [] }, messages: [] }) as const;

/** Edits and asks so many times; what has hung is answered when it is told to. */
function handingOver(hangs: (call: number) => boolean) {
  const clock = createFakeClock(0);
  const warnings: string[] = [];
  const answers: (() => void)[] = [];
  let revision = 0;
  let saved = 0;
  let calls = 0;
  const handOver = createHandOver({
    onCompact() {
      const given = revision;
      const save = (): void => {
        saved = given;
      };
      if (!hangs(++calls)) return save();
      return new Promise((resolve) => answers.push(() => resolve(save())));
    },
    changed,
    clock,
    onWarning: (code, message) => warnings.push(`${code}: ${message}`),
  });
  return {
    clock,
    warnings,
    answers,
    saved: () => saved,
    calls: () => calls,
    async edit() {
      revision++;
      handOver.edited();
      await clock.runUntilDone(handOver.now());
    },
    ask: () => clock.runUntilDone(handOver.now()),
  };
}

describe("onCompact", () => {
  it("that hangs holds up one request for two seconds, in forty edits, is told once, and is called each time", async () => {
    const { edit, clock, warnings, calls } = handingOver(() => true);
    for (let step = 0; step < 40; step++) await edit();
    expect(clock.now()).toBe(2_000);
    expect(calls()).toBe(40);
    expect(warnings).toEqual(["not-persisted: onCompact did not end in time"]);
  });

  it("that hung is given the newest with the next request, and is waited for again once it answers", async () => {
    let isHung = true;
    const { edit, ask, saved, clock, calls, warnings } = handingOver(() => isHung);
    for (let step = 0; step < 3; step++) await edit();
    expect(saved()).toBe(0);
    isHung = false;
    await ask();
    expect(saved()).toBe(3);
    await ask();
    expect(calls()).toBe(4);
    isHung = true;
    await edit();
    expect([clock.now(), warnings.length]).toEqual([4_000, 2]);
  });

  it("that takes an older one last is given the newest again", async () => {
    const { edit, ask, saved, answers, clock } = handingOver((call) => call === 1);
    await edit();
    await edit();
    expect(saved()).toBe(2);
    answers[0]?.();
    await clock.advance(0);
    expect(saved()).toBe(1);
    await ask();
    expect(saved()).toBe(2);
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
