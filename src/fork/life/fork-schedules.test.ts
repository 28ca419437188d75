import fc from "fast-check";
import { expect, it } from "vitest";
import { createForkWorld, type ForkWorld, note, readRecords } from "../../../test/rig/forks/fork-world.ts";
import { MOVE_RANGE, makeMove, settle } from "../../../test/rig/forks/fork-world-moves.ts";
import { runs } from "../../../test/rig/runs.ts";
import { defaultsOf } from "../../text/check.ts";
import { FORK_LIMIT_SHAPE, type ForkLimits, forkLimits } from "./limits.ts";
import { deliveryIdsIn } from "./notice.ts";
import { deliveryId, type EndedRun, isLive } from "./record.ts";

it("5,000 schedules of crashes, losses, repeats and delays leave no fork stuck and deliver every result once", async () => {
  const schedules = Number(process.env.FORK_SCHEDULES ?? 5_000);
  const seen = new Map<string, number>();
  const move = fc.tuple(fc.nat(MOVE_RANGE.kind), fc.nat(MOVE_RANGE.which), fc.nat(MOVE_RANGE.how));
  const moves = fc.array(move, { minLength: 20, maxLength: 60, size: "max" });
  await fc.assert(
    fc.asyncProperty(moves, fc.nat(), async (schedule, seed) => {
      const world = createForkWorld({
        random: createRandom(seed),
        limits: limitsOf(seed),
        startTimes: seed % 3 === 0 ? "unknown" : "known",
      });
      for (const each of schedule) await makeMove(world, each);
      const isSettled = await settle(world);
      if (!isSettled) throw new Error(`stuck: ${JSON.stringify(await readRecords(world))}`);
      await checkDeliveries(world);
      for (const [what, count] of world.seen) seen.set(what, (seen.get(what) ?? 0) + count);
    }),
    { numRuns: runs(schedules) },
  );
  const counts = [...seen].map(([what, count]) => `${what} ${count}`).sort();
  console.log(`what happened: ${counts.join(", ")}`);
  if (runs(schedules) < schedules) return;
  expect(MUST_HAPPEN.filter((what) => !seen.has(what))).toEqual([]);
}, 900_000);

/** Without these the schedules would prove little. */
const MUST_HAPPEN = [
  "action lost",
  "adopted",
  "delivered twice over a crash: no",
  "event lost",
  "event repeated",
  "fenced off",
  "reminded",
  "killed",
  "killed after sending",
  "killed before an action",
  "killed before sending",
  "left for the user",
  "rebuilt",
  "refused",
  "run cancelled",
  "run completed",
  "run failed",
  "run interrupted",
  "run timed-out",
  "sending failed",
  "sent by prompt",
  "sent by read",
  "sent by tool-output",
  "sent by user-message",
];

async function checkDeliveries(world: ForkWorld): Promise<void> {
  for (const record of await readRecords(world)) {
    const told = world.parents.find(({ id }) => id === record.parentSessionId)?.told.join("\n") ?? "";
    const delivered = deliveryIdsIn(told);
    for (const run of record.runs) {
      if (isLive(run)) throw new Error("a settled run is over");
      const times = delivered.filter((id) => id === deliveryId(record, run.number)).length;
      if (times !== expectedTimes(run, times)) {
        throw new Error(`delivered ${times} times: ${JSON.stringify(record)}`);
      }
      note(world, `run ${run.state}`);
      if (times === 1 && run.delivery.sends > 1) note(world, "delivered twice over a crash: no");
    }
  }
}

function expectedTimes({ delivery }: EndedRun, times: number): number {
  if (delivery.closedBy === "next-run") return 0;
  const isParentGone = delivery.closedBy === "parent-deleted" || delivery.state !== "acked";
  return isParentGone ? Math.min(times, 1) : 1;
}

function limitsOf(seed: number): ForkLimits {
  return {
    ...forkLimits(defaultsOf(FORK_LIMIT_SHAPE)),
    maxRunning: 2,
    maxQueued: 3,
    timeoutMs: 120_000,
    graceMs: 40_000,
    maxToolCalls: 12,
    askTimeoutMs: seed % 5 === 0 ? 0 : 30_000,
    onRestart: seed % 2 === 0 ? "report" : "resume",
  };
}

function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % below;
  };
}
