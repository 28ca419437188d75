import { expect } from "vitest";
import { call, callAll, say } from "../../rig/model-server/step.ts";
import { ANTHROPIC_WINDOW, RESPONSES_WINDOW } from "../../rig/opencode/sandbox.ts";
import type { HostRig } from "../harness/host-rig.ts";
import { describeHosts } from "../harness/scenario.ts";
import { journalOf, runCarryover } from "./window-support.ts";

const ROUNDS = 20;
/** What the provider says of a window that the host must compact before its next step. */
const FULL = { inputTokens: 185_000, outputTokens: 10 };

/** One file a round, with a fact in its middle. */
const FILES = Object.fromEntries(
  Array.from({ length: ROUNDS }, (_, index) => {
    const lines = Array.from(
      { length: 400 },
      (_, line) => `${line} of file ${index + 1}: nothing to see here`,
    );
    return [
      `file-${index + 1}.txt`,
      lines.with(200, `the fact of the file is F-${4_001 + index}`).join("\n"),
    ];
  }),
);

const factsOf = (round: number): readonly string[] => [
  `C-${7_000 + round}`,
  `F-${4_000 + round}`,
  `D-${9_000 + round}`,
];

/** A line of the first file that no summary needs. */
const READ = "111 of file 1: nothing to see here";

const OWN = {
  plugin: { compaction: "local" },
  why: "the agent sums up itself unless it is asked for",
  twin: "the agent's own compaction is told what must stay",
} as const;

/** What the newest request of a session showed the model. */
function windowOf(rig: HostRig, sessionId: string): string {
  return JSON.stringify(rig.requests({ sessionId }).at(-1)?.body);
}

async function playRound(rig: HostRig, id: string, round: number, usage?: typeof FULL): Promise<void> {
  await rig.turn(id, `Round ${round}: the colour is C-${7_000 + round}.`, [
    callAll([rig.tools.read(`file-${round}.txt`)]),
    say(`Read; the number is D-${9_000 + round}.`, usage && { usage }),
  ]);
}

describeHosts("compaction by Carryover", (host) => {
  if (host.name === "opencode") {
    host.scenario(
      "an agent that takes no summary sums up itself",
      { ...OWN, proves: "in OpenCode 1 the option changes nothing: the host asks its model" },
      async (rig) => {
        const id = await rig.newSession();
        await rig.turn(id, "Begin.", [say("Begun.")]);
        rig.model.script([say("## Objective\n- Go on", { lane: "summary" })]);
        await rig.compact(id);
        await rig.turn(id, "And now?", [say("Now this.")]);
        expect(rig.requests({ sessionId: id, lane: "summary" })).toHaveLength(1);
        expect(windowOf(rig, id)).toContain("## Objective");
      },
    );
    return;
  }

  const shared = host.shareRig({ ...OWN, files: FILES });

  host.scenario(
    "twenty compactions without a request",
    {
      shared,
      proves:
        "no request is made for any of them; every planted fact is in the window or behind a handle that stands there",
    },
    async (rig) => {
      const id = await rig.newSession();
      for (let round = 1; round <= ROUNDS; round++) {
        const isAutomatic = round % 2 === 0;
        await playRound(rig, id, round, isAutomatic ? FULL : undefined);
        // The host looks at the usage of the last answer before its next step.
        if (!isAutomatic) await rig.compact(id);
      }
      await rig.turn(id, "What is left?", [say("All of it.")]);
      const made = (await journalOf(rig, id)).filter(({ type }) => type === "compaction");
      expect(made).toHaveLength(ROUNDS);
      expect(rig.requests({ sessionId: id, lane: "summary" })).toEqual([]);
      expect(rig.requests({ sessionId: id, lane: "main" })).toHaveLength(2 * ROUNDS + 1);

      const window = windowOf(rig, id);
      const [, handle = ""] = /whole by ([0-9a-f]{64})/.exec(window) ?? [];
      const facts = Array.from({ length: ROUNDS }, (_, index) => factsOf(index + 1)).flat();
      const gone = facts.filter((fact) => !window.includes(fact));
      expect(gone.length).toBeGreaterThan(ROUNDS / 2);
      const asked = gone.map((search) => ({ tool: "recall", input: { search } }));
      await rig.turn(id, "Find the rest.", [callAll(asked), say("Found.")]);
      const found = windowOf(rig, id);
      expect(gone.filter((fact) => !found.includes(fact))).toEqual([]);

      await rig.turn(id, "Read it from the start.", [
        call("recall", { handle, range: "c0-8000" }),
        call("recall", { handle, range: "c8000-16000" }),
        say("Read."),
      ]);
      expect(windowOf(rig, id)).toContain("Round 1: the colour is C-7001.");
    },
  );

  for (const { wire, model } of [
    { wire: "openai-responses", model: RESPONSES_WINDOW },
    { wire: "anthropic", model: ANTHROPIC_WINDOW },
  ] as const) {
    host.scenario(
      `a summary on the wire ${wire}`,
      {
        shared,
        proves: "it is ours, nothing leaves, and the messages that stay stand behind it as they were",
      },
      async (rig) => {
        const id = await rig.newSession();
        await rig.turn(id, { text: "The colour is C-7001.", model }, [
          callAll([rig.tools.read("file-1.txt"), rig.tools.read("file-2.txt")]),
          say("Read."),
        ]);
        await rig.turn(id, { text: "Go on.", model }, [say("Gone on.")]);
        await rig.compact(id);
        await rig.turn(id, { text: "And now?", model }, [say("Now this.")]);
        expect(rig.requests({ sessionId: id, lane: "summary" })).toEqual([]);
        expect(rig.requests({ sessionId: id, wire })).toHaveLength(4);
        const window = windowOf(rig, id);
        for (const kept of ["The colour is C-7001.", "Gone on.", "And now?"]) expect(window).toContain(kept);
        expect(window).not.toContain("F-4001");
        expect(window).not.toContain("recent-context");
      },
    );
  }

  host.scenario(
    "a compaction is taken back",
    {
      shared,
      proves: "by our undo, while the plugin runs and while nothing runs: everything is sent again",
    },
    async (rig) => {
      const id = await rig.newSession();
      for (const round of [1, 2, 3]) await playRound(rig, id, round);
      await rig.compact(id);
      await rig.turn(id, "And now?", [say("Now this.")]);
      expect(windowOf(rig, id)).not.toContain(READ);
      const online = await runCarryover(rig, "undo", "--session", id, "--json");
      expect(online.stderr).toBe("");
      expect(JSON.parse(online.stdout)).toMatchObject({ step: "compaction", where: "plugin" });
      await rig.turn(id, "Is it back?", [say("It is.")]);
      for (const said of [READ, ...[1, 2, 3].flatMap(factsOf)]) expect(windowOf(rig, id)).toContain(said);

      await rig.compact(id);
      await rig.turn(id, "And now?", [say("Now that.")]);
      expect(windowOf(rig, id)).not.toContain(READ);
      await rig.kill9();
      const offline = await runCarryover(rig, "undo", "--session", id, "--json");
      expect(JSON.parse(offline.stdout)).toMatchObject({ step: "compaction", where: "journal" });
      await rig.restart();
      await rig.turn(id, "Is it back?", [say("It is.")]);
      for (const said of [READ, ...[1, 2, 3].flatMap(factsOf)]) expect(windowOf(rig, id)).toContain(said);
    },
  );

  host.scenario(
    "a summary of the session's model",
    {
      shared,
      proves:
        "one request leaves, with our prompt; its answer stands beside the user's words, the pins and the handle",
    },
    async (rig) => {
      await rig.restart({ ...OWN, plugin: { compaction: "model" } });
      const id = await rig.newSession();
      await rig.turn(id, "The port is 4711. #pin", [
        callAll([rig.tools.read("file-1.txt"), rig.tools.read("file-2.txt")]),
        say("Read."),
      ]);
      for (const round of [1, 2]) {
        await rig.turn(id, `Go on ${round}.`, [
          callAll([rig.tools.read(`file-${round}.txt`)]),
          say("Gone on."),
        ]);
        rig.model.script([say(`## Goal\nThe model's own words, ${round}.`, { sessionId: id })]);
        await rig.compact(id);
      }
      await rig.turn(id, "And now?", [say("Now this.")]);
      expect(rig.requests({ sessionId: id, lane: "summary" })).toEqual([]);
      const asked = rig.requests({ sessionId: id }).filter(({ body }) => body.tools === undefined);
      expect(asked).toHaveLength(2);
      expect(JSON.stringify(asked[1]?.body)).toContain("The model's own words, 1.");
      const window = windowOf(rig, id);
      expect(window).toContain("The model's own words, 2.");
      expect(window).toContain("The port is 4711. #pin");
      expect(window).toMatch(/whole by [0-9a-f]{64}/);
    },
  );

  host.scenario(
    "the agent's own compaction is told what must stay",
    { plugin: {}, proves: "with default options the host asks its model, and its request holds the pins" },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, "The port is 4711. #pin", [say("Noted.")]);
      await rig.turn(id, "Go on.", [say("Gone on.")]);
      rig.model.script([say("## Objective\n- Go on", { lane: "summary" })]);
      await rig.compact(id);
      const [asked] = rig.requests({ sessionId: id, lane: "summary" });
      expect(JSON.stringify(asked?.body)).toContain("<pinned>\\nThe port is 4711. #pin\\n</pinned>");
      await rig.turn(id, "And now?", [say("Now this.")]);
      expect(windowOf(rig, id)).toContain("## Objective");
    },
  );
});
