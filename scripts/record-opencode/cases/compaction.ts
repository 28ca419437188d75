import { call, callAll, refuseLength, say } from "../../../test/rig/model-server/step.ts";
import { SHORT_WINDOW } from "../../../test/rig/opencode/sandbox.ts";
import { orders } from "../orders.ts";
import { explanation } from "../prose.ts";
import type { RecordingCase } from "../stage.ts";
import { ask, CALM, compact, FULL, longTurns, summary, untilPruned } from "../turns.ts";
import { redDotUrl } from "./red-dot.ts";

// Five results of this size are the fewest that OpenCode prunes: it protects 40,000 tokens and clears no less than 20,000.
const STATUSES = ["paid", "refunded", "shipped", "voucher", "partial"];

/** Compactions that end well. */
export const compactionCases: readonly RecordingCase[] = [
  {
    name: "compaction-without-tail",
    about:
      "The window fills up in the middle of a tool loop; the history is short, so nothing is kept word for word.",
    async play(stage) {
      await ask(stage, "What is this project?", [say("A small one.", { usage: CALM })]);
      await ask(stage, "Count its files.", [
        call("bash", { command: "ls | wc -l", description: "Count" }, { usage: FULL }),
        summary("## Objective\n- Count the files of the project"),
        say("There is one file.", { usage: CALM }),
      ]);
      await ask(stage, "Are you sure?", [say("Yes.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "compaction-with-tail",
    about: "A long history: the newest turns are kept word for word behind the summary.",
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding", "printing"]);
      await ask(stage, "Is that all?", [
        say("That is all.", { usage: FULL }),
        summary("## Objective\n- Explain the project\n\n## Work State\n- Parsing and totals are explained"),
        say("Nothing is left to do.", { usage: CALM }),
      ]);
      await ask(stage, "Then run it.", [
        callAll([{ tool: "bash", input: { command: "cat README.md", description: "Show" } }], {
          usage: CALM,
        }),
        say("Done.", { usage: CALM }),
      ]);
      return stage.recording();
    },
  },
  {
    name: "compaction-twice",
    about: "Two compactions on request; the second one keeps newer turns than the first.",
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding"]);
      await compact(stage, "## Objective\n- First summary");
      await longTurns(stage, ["printing", "sorting", "saving"]);
      await compact(stage, "## Objective\n- Second summary");
      await ask(stage, "Go on.", [say("Going on.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "compaction-twice-shared-tail",
    about:
      "Two compactions close together: what the second one keeps begins before the first marker, so the first marker and summary are in it.",
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding"]);
      await compact(stage, "## Objective\n- First summary");
      await longTurns(stage, ["printing"]);
      await compact(stage, "## Objective\n- Second summary");
      await ask(stage, "Go on.", [say("Going on.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "compaction-thrice",
    about: "Three compactions, the last one right behind the second; it keeps nothing word for word.",
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding"]);
      await compact(stage, "## Objective\n- First summary");
      await longTurns(stage, ["printing"]);
      await compact(stage, "## Objective\n- Second summary");
      await compact(stage, "## Objective\n- Third summary");
      await ask(stage, "Go on.", [say("Going on.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "compaction-split-turn",
    about:
      "One turn is longer than what may be kept, so the tail starts in the middle of it, at an assistant message.",
    async play(stage) {
      await longTurns(stage, ["parsing"]);
      await ask(stage, "Look at everything.", [
        ...["totals", "rounding", "printing", "sorting"].map((topic) =>
          call(
            "bash",
            { command: `echo ${topic}`, description: `Look at ${topic}` },
            {
              text: explanation(topic, 2_400),
              usage: CALM,
            },
          ),
        ),
        say("I have seen everything.", { usage: FULL }),
        summary("## Objective\n- Look at everything"),
        say("Nothing is left to do.", { usage: CALM }),
      ]);
      await ask(stage, "Go on.", [say("Going on.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "tail-turns-zero",
    about: "The same history with tail_turns 0: nothing is kept word for word.",
    config: { compaction: { tail_turns: 0 } },
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding"]);
      await compact(stage, "## Objective\n- The only summary");
      await ask(stage, "Go on.", [say("Going on.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "overflow-replay",
    about:
      "The provider says the request is too long: the history is compacted and the question asked again, its picture named only.",
    async play(stage) {
      await ask(stage, "What is this project?", [say("A small one.", { usage: CALM })]);
      await stage.turn(
        {
          text: "What is on the picture?",
          parts: [{ type: "file", mime: "image/png", filename: "dot.png", url: redDotUrl() }],
          model: SHORT_WINDOW,
        },
        [
          refuseLength(),
          summary("## Objective\n- Describe a picture"),
          say("I cannot see it any more.", { usage: CALM }),
        ],
      );
      await ask(stage, "Never mind.", [say("Good.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "overflow-first-turn",
    about:
      "The very first request is too long: nothing can be asked again, so the model is told what happened.",
    async play(stage) {
      await ask(stage, "Explain everything at once.", [
        refuseLength(),
        summary("## Objective\n- Explain everything"),
        say("That was too much.", { usage: CALM }),
      ]);
      await ask(stage, "Then one thing.", [say("One thing.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "window-shrinks",
    about:
      "The user switches to a model with a short window: the history is compacted before the new question is answered.",
    async play(stage) {
      await stage.turn("Explain the parser.", [
        say(explanation("the parser", 3_000), { usage: { inputTokens: 9_000, outputTokens: 800 } }),
      ]);
      await ask(stage, "Which part was the longest?", [
        summary("## Objective\n- Explain the parser\n- Say which part was the longest"),
        say("The first part.", { usage: CALM }),
      ]);
      await ask(stage, "And the shortest?", [say("The last one.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "auto-off",
    about:
      "compaction.auto false: a full window is left alone, and a request that is too long is an error of its turn.",
    config: { compaction: { auto: false } },
    async play(stage) {
      await ask(stage, "First question.", [
        say("First answer.", { usage: { inputTokens: 7_900, outputTokens: 10 } }),
      ]);
      await ask(stage, "Second question.", [refuseLength()]);
      await ask(stage, "Third question.", [say("Third answer.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "pruned",
    about:
      "compaction.prune true: old outputs keep their text and get a time stamp; the model reads a placeholder.",
    config: { compaction: { prune: true } },
    files: { "orders.csv": orders(660) },
    async play(stage) {
      await stage.turn("Look through the orders, status by status.", [
        ...STATUSES.map((status) => call("grep", { pattern: `,${status},`, path: stage.project })),
        say("I have seen five of them."),
      ]);
      await stage.turn("Which was the first?", [say("Paid.")]);
      await stage.turn("And the last?", [say("Partial.")]);
      await untilPruned(stage);
      await stage.turn("What is the first order that was paid?", [say("I would have to look again.")]);
      return stage.recording();
    },
  },
  {
    name: "export",
    about: "What `opencode export` prints for a compacted session.",
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding"]);
      await compact(stage, "## Objective\n- Explain the project");
      await ask(stage, "Show the readme.", [
        call("bash", { command: "cat README.md", description: "Show" }, { usage: CALM }),
        say("That is it.", { usage: CALM }),
      ]);
      return JSON.parse(await stage.opencode().runCommand("export", stage.sessionId));
    },
  },
];
