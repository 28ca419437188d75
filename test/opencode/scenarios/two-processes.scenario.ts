import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { deliveryId, isLive } from "../../../src/fork/life/record.ts";
import { call, callAll, type Step, say } from "../../rig/model-server/step.ts";
import type { OpenCode } from "../../rig/opencode/start-opencode.ts";
import { createSeededRandom, type SeededRandom } from "../../rig/random-history/history.ts";
import { type Rig, readTranscript } from "../harness/rig.ts";
import { scenario } from "../harness/scenario.ts";
import { forksOf, pause, storedForks } from "./delivery-support.ts";
import { deliveriesOf } from "./fork-support.ts";

const ROUNDS = process.env.CARRYOVER_LONG === undefined ? 6 : 100;
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const MAX_KILL_MS = 4_500;

scenario(
  `of two programs on one project either may be killed at any moment, ${ROUNDS} times`,
  {
    start: "later",
    plugin: {},
    leftoverSteps: "allow",
    timeoutMs: ROUNDS * 80_000,
    proves: "no fork is lost, none is delivered twice, no file is damaged",
  },
  async (rig) => {
    const dice = createSeededRandom(SEED);
    const sides: Side[] = [
      { name: "A", opencode: await rig.another() },
      { name: "B", opencode: await rig.another() },
    ];
    const rounds: Round[] = [];
    rig.model.script(script(dice));
    console.log(rowOf(HEAD));
    for (let number = 1; number <= ROUNDS; number++) {
      const round = await playRound({ rig, dice, sides, number });
      rounds.push(round);
      console.log(rowOf(cellsOf(round)));
      if (round.lost.length > 0 || round.twice.length > 0) break;
    }
    await pause(3_000);
    const doubled: string[] = [];
    for (const { sessions } of rounds) {
      for (const id of sessions) doubled.push(...twiceIn(await deliveriesFrom(sides, id)));
    }
    const { problems } = await storedForks(rig);
    expect({
      lost: rounds.flatMap(({ lost }) => lost),
      doubled,
      problems,
      damaged: damagedFiles(rig),
    }).toEqual({
      lost: [],
      doubled: [],
      problems: [],
      damaged: [],
    });
    expect(rounds.reduce((sum, { forks }) => sum + forks, 0)).toBeGreaterThan(ROUNDS);
  },
);

interface Side {
  readonly name: string;
  opencode: OpenCode;
}

interface Round {
  readonly number: number;
  readonly killed: string;
  readonly killMs: number;
  readonly sessions: readonly string[];
  readonly forks: number;
  readonly states: readonly string[];
  /** How often the user had to speak to the session of the program that was killed. */
  readonly messages: number;
  readonly lost: readonly string[];
  readonly twice: readonly string[];
}

interface Play {
  readonly rig: Rig;
  readonly dice: SeededRandom;
  readonly sides: readonly Side[];
  readonly number: number;
}

/** Every session forks twice, and then works or ends its turn; children take their time. */
function script(dice: SeededRandom): readonly Step[] {
  const top = { family: "top-level", times: "always" } as const;
  const child = { family: "child", times: "always" } as const;
  const forks = (...names: readonly string[]) =>
    names.map((name) => ({ tool: "fork", input: { prompt: `Look at ${name}.` } }));
  const work = { command: "sleep 2; echo worked-well", description: "Work" };
  return [
    say("Report.", { ...child, contains: "this.", delayMs: 200 + dice.below(800) }),
    say("Report.", { ...child, delayMs: 1_000 + dice.below(1_500) }),
    say("I see.", { ...top, contains: "And then?" }),
    say("Done.", { ...top, contains: "worked-well" }),
    say("Seen.", { ...top, contains: "fork_result delivery" }),
    call("bash", work, { ...top, contains: "work-this" }),
    say("Forked.", { ...top, contains: "Go on with other work" }),
    callAll(forks("work-this", "work-that"), { ...top, contains: "Fork and work." }),
    callAll(forks("this", "that"), { ...top, contains: "Fork." }),
  ];
}

async function playRound({ rig, dice, sides, number }: Play): Promise<Round> {
  const victim = dice.oneOf(sides);
  const killMs = dice.below(MAX_KILL_MS);
  const sessions = await Promise.all(
    sides.map(({ name, opencode }) => opencode.createSession(`Round ${number} ${name}`)),
  );
  await Promise.all(
    sides.map(({ opencode }, index) =>
      opencode.promptInBackground(sessions[index] ?? "", {
        text: dice.chance(50) ? "Fork." : "Fork and work.",
      }),
    ),
  );
  await pause(killMs);
  await victim.opencode.kill();
  victim.opencode = await rig.another();
  let messages = 0;
  for (const [index, side] of sides.entries()) {
    const id = sessions[index] ?? "";
    await side.opencode.waitUntilIdle(id);
    if (side !== victim) {
      await rig.waitFor(
        async () => (await lostIn(rig, sides, id)).length === 0,
        `the results of ${id}, whose program was not killed`,
      );
      continue;
    }
    for (messages = 1; messages <= MAX_MESSAGES; messages++) {
      await side.opencode.prompt(id, { text: "And then?" });
      await side.opencode.waitUntilIdle(id);
      if ((await lostIn(rig, sides, id)).length === 0) break;
      await pause(1_000);
    }
  }
  const records = (await Promise.all(sessions.map((id) => forksOf(rig, id)))).flat();
  const lost = (await Promise.all(sessions.map((id) => lostIn(rig, sides, id)))).flat();
  const found = (await Promise.all(sessions.map((id) => deliveriesFrom(sides, id)))).flat();
  return {
    number,
    killed: victim.name,
    killMs,
    sessions,
    forks: records.length,
    states: records.flatMap(({ runs }) => runs.map(({ state }) => state)),
    messages,
    lost,
    twice: twiceIn(found),
  };
}

const MAX_MESSAGES = 3;

/** The results that do not stand in the session: of stored forks, and of forks that the model was told of. */
async function lostIn(rig: Rig, sides: readonly Side[], sessionId: string): Promise<readonly string[]> {
  const records = await forksOf(rig, sessionId);
  const found = new Set(await deliveriesFrom(sides, sessionId));
  const lost = records.flatMap((record) =>
    record.runs
      .filter((run) => isLive(run) || !found.has(deliveryId(record, run.number)))
      .map((run) => JSON.stringify({ fork: record.id, owner: record.owner, ...run, prompts: undefined })),
  );
  const told = await startedForks(sides, sessionId);
  const unknown =
    told > records.length ? [`${told - records.length} forks of ${sessionId} have no record`] : [];
  return [...lost, ...unknown];
}

async function startedForks(sides: readonly Side[], sessionId: string): Promise<number> {
  const messages = await sides[0]?.opencode.messages(sessionId);
  const outputs = (messages ?? []).flatMap(({ parts }) =>
    parts.flatMap((part) => {
      const state = part.state as { readonly output?: string } | undefined;
      return part.tool === "fork" ? [state?.output ?? ""] : [];
    }),
  );
  return outputs.filter((text) => text.includes("Go on with other work")).length;
}

async function deliveriesFrom([side]: readonly Side[], sessionId: string): Promise<readonly string[]> {
  if (side === undefined) return [];
  return deliveriesOf({ transcript: (id) => readTranscript(side.opencode, id) }, sessionId);
}

function twiceIn(deliveries: readonly string[]): readonly string[] {
  return deliveries.filter((id, index) => deliveries.indexOf(id) !== index);
}

function damagedFiles(rig: Rig): readonly string[] {
  const folder = join(rig.sandbox.home, ".local", "share", "carryover");
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.includes("corrupt"),
  );
}

const HEAD = ["round", "killed", "at ms", "forks", "completed", "interrupted", "messages", "lost", "twice"];

function cellsOf(round: Round): readonly (string | number)[] {
  const count = (state: string): number => round.states.filter((each) => each === state).length;
  const { number, killed, killMs, forks, messages, lost, twice } = round;
  const ends = [count("completed"), count("interrupted")];
  return [number, killed, killMs, forks, ...ends, messages, lost.length, twice.length];
}

function rowOf(cells: readonly (string | number)[]): string {
  return cells.map((cell) => String(cell).padStart(12)).join("");
}
