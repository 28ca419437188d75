import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../test/rig/runs.ts";
import { firstDifference, PLAIN, play, type Told, type Way } from "../../test/rig/session-play/play.ts";
import {
  anyScript,
  longTalk,
  type Script,
  SUMMARIZERS,
  type SummarizerKind,
} from "../../test/rig/session-play/script.ts";

/** The state decides. However else a script is played, a session does the same and sends the same, byte for byte. */
const WAYS: readonly WayToPlay[] = [
  { name: "asked in between", way: { asks: "often" } },
  { name: "restored from its state", way: { restored: "from-state" } },
  { name: "on a clock that stands still", way: { clock: "still" } },
  { name: "on a clock that is set back", way: { clock: "set-back" } },
  { name: "given copies of its messages", way: { given: "copied" } },
  { name: "given message by message", way: { given: "one-by-one" } },
  { name: "given messages one after another", way: { given: "appended" }, script: withoutMarkers },
  {
    name: "with all of this at once",
    way: { asks: "often", restored: "from-state", clock: "set-back", given: "copied" },
  },
];

interface WayToPlay {
  readonly name: string;
  readonly way: Partial<Way>;
  /** What has to be otherwise in a script for it. */
  readonly script?: (script: Script) => Script;
}

/** A marker asks the owner of a list, and a session that is appended to itself. */
function withoutMarkers(script: Script): Script {
  return { ...script, hasMarkers: false };
}

const SEED = fc.readConfigureGlobal().seed ?? 0;

/** What scripts tell when they are played plainly; each is compared with many ways. */
const plain = new Map<string, Promise<readonly Told[]>>();

function playPlainly(script: Script): Promise<readonly Told[]> {
  const key = JSON.stringify(script);
  const known = plain.get(key) ?? play(script, PLAIN).then(({ told }) => told);
  plain.set(key, known);
  return known;
}

/** The first difference is the failure; FUZZ_SHRINK says for how many seconds the script is made smaller. */
const SHRINK_SECONDS = process.env.FUZZ_SHRINK;

async function expectSame(
  summarizer: SummarizerKind,
  { way, script: change = (script) => script }: Omit<WayToPlay, "name">,
): Promise<void> {
  const property = fc.asyncProperty(anyScript({ summarizer }), async (given) => {
    const script = change(given);
    const other = await play(script, { ...PLAIN, ...way });
    const times = way.clock === undefined ? "same" : "differ";
    const difference = firstDifference(await playPlainly(script), other.told, times);
    if (difference !== undefined) expect.fail(difference);
  });
  await fc.assert(property, {
    seed: SEED + SUMMARIZERS.indexOf(summarizer),
    numRuns: runs(60, 2),
    ...(SHRINK_SECONDS === undefined
      ? { endOnFailure: true }
      : { interruptAfterTimeLimit: Number(SHRINK_SECONDS) * 1_000 }),
  });
}

describe("a session that is played again does the same", () => {
  it.each(SUMMARIZERS)("with a summarizer that is %s", (summarizer) => expectSame(summarizer, { way: {} }));
});

describe("a long talk", () => {
  it("that is asked after every message does what it does when it is asked at its end alone", async () => {
    const property = fc.asyncProperty(longTalk(), async (script) => {
      const other = await play(script, { ...PLAIN, asks: "often" });
      const difference = firstDifference(await playPlainly(script), other.told, "same");
      if (difference !== undefined) expect.fail(difference);
    });
    await fc.assert(property, { numRuns: runs(300, 30), endOnFailure: true });
  });
});

describe.each(WAYS)("a session $name does what it does without", (each) => {
  it.each(SUMMARIZERS)("with a summarizer that is %s", (summarizer) => expectSame(summarizer, each));
});
