import { call, callAll, say } from "../../../test/rig/model-server/step.ts";
import { LONG_WINDOW, SHORT_WINDOW } from "../../../test/rig/opencode/sandbox.ts";
import type { RecordingCase } from "../stage.ts";
import { RED_DOT_PNG, redDotUrl } from "./red-dot.ts";

const FILES = {
  "src/sum.mjs": "export const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);\n",
  "src/check.mjs":
    'import { sum } from "./sum.mjs";\nif (sum([1, 2]) !== 4) throw new Error("expected 4");\n',
  "docs/dot.png": RED_DOT_PNG,
};

/** What tools and user messages look like, without any compaction. */
export const toolCases: readonly RecordingCase[] = [
  {
    name: "plain-tools",
    about:
      "Built-in tools: a good and a failing command, read, write, two calls at once, a refused edit, an image that a tool attaches, reasoning.",
    files: FILES,
    async play(stage) {
      const path = (name: string): string => `${stage.project}/${name}`;
      await stage.turn("Look around and make the check pass.", [
        call(
          "bash",
          { command: "ls src && cat src/check.mjs", description: "List the sources" },
          {
            reasoning: "First I need to see what there is.",
            text: "I will look at the sources.",
          },
        ),
        call("bash", {
          command: "node src/check.mjs 2>&1 | grep Error; exit 3",
          description: "Run the check",
        }),
        callAll([
          { tool: "read", input: { filePath: path("src/sum.mjs") } },
          { tool: "bash", input: { command: "wc -l src/*.mjs", description: "Count lines" } },
        ]),
        call("edit", { filePath: path("src/check.mjs"), oldString: "!== 5", newString: "!== 3" }),
        call("read", { filePath: path("src/missing.mjs") }),
        call("write", { filePath: path("src/check.mjs"), content: "// the sum of 1 and 2 is 3\n" }),
        call("read", { filePath: path("docs/dot.png") }, { reasoning: "The picture may explain it." }),
        say("The check expected a wrong number. I rewrote it."),
      ]);
      await stage.turn("Thanks. What did you change?", [say("One file: src/check.mjs.")]);
      return stage.recording();
    },
  },
  {
    name: "user-parts",
    about:
      "Text that is ignored or synthetic, an attached file and folder, an attached image, a message of which nothing is sent.",
    files: FILES,
    async play(stage) {
      const opencode = stage.opencode();
      await opencode.prompt(stage.sessionId, {
        noReply: true,
        parts: [
          { type: "text", text: "Only for the user's eyes.", ignored: true },
          { type: "text", text: "Added by a program.", synthetic: true },
          { type: "text", text: "Written by the user." },
          { type: "text", text: "" },
          {
            type: "file",
            mime: "text/plain",
            filename: "sum.mjs",
            url: `file://${stage.project}/src/sum.mjs`,
          },
          {
            type: "file",
            mime: "application/x-directory",
            filename: "src",
            url: `file://${stage.project}/src`,
          },
        ],
      });
      await opencode.prompt(stage.sessionId, {
        noReply: true,
        parts: [{ type: "text", text: "Nobody but the user reads this.", ignored: true }],
      });
      await stage.turn(
        {
          text: "And this picture?",
          parts: [{ type: "file", mime: "image/png", filename: "dot.png", url: redDotUrl() }],
        },
        [say("A red dot.")],
      );
      await stage.turn("Good.", [say("Good.")]);
      return stage.recording();
    },
  },
  {
    name: "model-switch",
    about: "The model changes between turns: reasoning of the former model is sent as text to the new one.",
    async play(stage) {
      await stage.turn({ text: "How much is 6 times 7?", model: LONG_WINDOW }, [
        call(
          "bash",
          { command: "echo $((6 * 7))", description: "Multiply" },
          { reasoning: "I would rather compute it." },
        ),
        say("42", { reasoning: "The shell agrees.", usage: { inputTokens: 900, outputTokens: 20 } }),
      ]);
      await stage.turn({ text: "And 6 times 8?", model: SHORT_WINDOW }, [
        say("48", { reasoning: "Six more than 42.", usage: { inputTokens: 900, outputTokens: 20 } }),
      ]);
      await stage.turn({ text: "And 6 times 9?", model: LONG_WINDOW }, [say("54")]);
      return stage.recording();
    },
  },
  {
    name: "subtask",
    about: "A task that the user gives to a sub-agent, and one that the model gives to it.",
    async play(stage) {
      await stage.turn(
        {
          parts: [
            { type: "subtask", agent: "general", description: "Count files", prompt: "Count the files." },
          ],
        },
        [
          say("There is one file.", { family: "child" }),
          say("The sub-agent found one file.", { family: "top-level" }),
        ],
      );
      await stage.turn("Have it counted again.", [
        call(
          "task",
          { description: "Count again", prompt: "Count them again.", subagent_type: "general" },
          { family: "top-level" },
        ),
        say("Still one.", { family: "child" }),
        say("It is still one.", { family: "top-level" }),
      ]);
      return stage.recording();
    },
  },
];
