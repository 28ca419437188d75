import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { call, callAll, refuse, say } from "../../../test/rig/model-server/step.ts";
import type { StoredPart } from "../../../test/rig/opencode/opencode-client.ts";
import type { RecordingCase, Stage } from "../stage.ts";

const WAIT = {
  command: "echo waiting; while [ ! -e go ]; do sleep 0.05; done; echo gone on",
  description: "Wait",
};

const STUBBORN_WAIT = { ...WAIT, command: `trap '' TERM; ${WAIT.command}` };

/** Turns that do not end the way they should. */
export const interruptionCases: readonly RecordingCase[] = [
  {
    name: "running-call",
    about:
      "Read while a command is still running: the newest assistant message has no finish, its call no result.",
    async play(stage) {
      await stage.turn("Are you there?", [say("Yes.")]);
      stage.model.script([
        callAll([
          { tool: "bash", input: { command: "echo first", description: "Say first" } },
          { tool: "bash", input: WAIT },
        ]),
      ]);
      await stage.opencode().promptInBackground(stage.sessionId, { text: "Wait for the file." });
      await untilToolRuns(stage);
      const recording = await stage.recording();
      await stage.opencode().abort(stage.sessionId);
      await stage.opencode().waitUntilIdle(stage.sessionId);
      return recording;
    },
  },
  {
    name: "aborted-turns",
    about:
      "Turns aborted while a command runs (one that stops at once, one that does not), one aborted in the middle of a text, one aborted before any text.",
    async play(stage) {
      stage.model.script([call("bash", WAIT, { text: "I will wait." })]);
      await abortedTurn(stage, { text: "Wait for the file.", ready: () => untilToolRuns(stage) });
      stage.model.script([call("bash", STUBBORN_WAIT)]);
      await abortedTurn(stage, { text: "Wait again.", ready: () => untilToolRuns(stage) });
      stage.model.script([{ reply: { type: "stall", text: "This sentence is never" } }]);
      await abortedTurn(stage, { text: "Say something.", ready: () => untilAsked(stage) });
      stage.model.script([{ reply: { type: "stall" } }]);
      await abortedTurn(stage, { text: "Say nothing.", ready: () => untilAsked(stage) });
      await stage.turn("Are you still there?", [say("Yes.")]);
      return stage.recording();
    },
  },
  {
    name: "killed-call",
    about: "The program dies while a command runs and is started again: the call stays marked as running.",
    async play(stage) {
      stage.model.script([call("bash", WAIT, { text: "I will wait." })]);
      await stage.opencode().promptInBackground(stage.sessionId, { text: "Wait for the file." });
      await untilToolRuns(stage);
      await stage.restart();
      await stage.turn("Did it come?", [say("I do not know.")]);
      return stage.recording();
    },
  },
  {
    name: "failed-turns",
    about: "A request the provider refuses, and a stream that breaks off and is tried again.",
    async play(stage) {
      await stage.turn("First question.", [refuse("The scripted provider does not like this.")]);
      await stage.turn("Second question.", [
        { reply: { type: "drop", text: "Half an answ" } },
        say("The whole answer."),
      ]);
      await stage.turn("Third question.", [say("Third answer.")]);
      return stage.recording();
    },
  },
  {
    name: "message-while-busy",
    about:
      "A message that arrives while a command is running is sent with the next request of the same turn.",
    async play(stage) {
      stage.model.script([call("bash", WAIT), say("It went on, and I saw the note.")]);
      await stage.opencode().promptInBackground(stage.sessionId, { text: "Wait for the file." });
      await untilToolRuns(stage);
      await stage.opencode().prompt(stage.sessionId, {
        noReply: true,
        parts: [{ type: "text", text: "A helper has finished.", synthetic: true }],
      });
      await release(stage);
      await stage.opencode().waitUntilIdle(stage.sessionId);
      await stage.turn("Next.", [say("Next.")]);
      return stage.recording();
    },
  },
];

interface AbortedTurn {
  readonly text: string;
  readonly ready: () => Promise<void>;
}

async function abortedTurn(stage: Stage, { text, ready }: AbortedTurn): Promise<void> {
  const opencode = stage.opencode();
  await opencode.promptInBackground(stage.sessionId, { text });
  await ready();
  await opencode.abort(stage.sessionId);
  await opencode.waitUntilIdle(stage.sessionId);
}

async function release(stage: Stage): Promise<void> {
  await writeFile(`${stage.project}/go`, "");
}

async function untilToolRuns(stage: Stage): Promise<void> {
  await until(async () => {
    const parts = (await stage.opencode().messages(stage.sessionId)).flatMap((message) => message.parts);
    return parts.some(isWaitingCommand) && !parts.some((part) => statusOf(part) === "pending");
  });
  await sleep(300); // The first line of output arrives a moment after the call is marked as running.
}

async function untilAsked(stage: Stage): Promise<void> {
  await until(async () => stage.model.unusedSteps().length === 0);
  await sleep(300); // The text is stored a moment after it was sent.
}

function isWaitingCommand(part: StoredPart): boolean {
  const state = part.state as { readonly input?: { readonly description?: string } } | undefined;
  return statusOf(part) === "running" && state?.input?.description === WAIT.description;
}

function statusOf(part: StoredPart): string | undefined {
  return part.type === "tool" ? (part.state as { readonly status: string }).status : undefined;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadlineMs = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > deadlineMs) throw new Error("The wanted state never came");
    await sleep(50);
  }
}
