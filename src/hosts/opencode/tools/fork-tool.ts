import { z } from "zod";
import { admitFork } from "../../../tasks/admit-fork.ts";
import { findFork } from "../../../tasks/find-fork.ts";
import type { ForkRecord } from "../../../tasks/fork-record.ts";
import { sizeText } from "../forks/directive.ts";
import { type Launched, launchFork } from "../forks/launch-fork.ts";
import type { ToolContext, ToolDefinition } from "../host.ts";
import { defineTool, WAIT_S } from "./define-tool.ts";
import { resultOf } from "./fork-results.ts";
import type { ToolSetup } from "./tool-setup.ts";

/** Starts a background agent that knows the conversation, or speaks to one that was started before. */
export function createForkTool(setup: ToolSetup): ToolDefinition {
  return defineTool({
    description:
      "Start a background agent that already knows this whole conversation. Give only the directive: goal, files, what to report. Use it for independent work beside your own. Returns at once; the result is delivered to you, do not poll.",
    args: SHAPE,
    run: ({ resume, wait_s = 0, ...request }, tool) =>
      resume === undefined
        ? start(setup, tool, { request, waitS: wait_s })
        : speak(setup, tool, { ...request, name: resume, waitS: wait_s }),
  });
}

const SHAPE = {
  prompt: z.string().trim().min(1).describe("the directive"),
  title: z.string().trim().max(60).optional().describe("at most 60 characters"),
  agent: z.string().min(1).optional().describe("default: yours"),
  resume: z.string().min(1).optional().describe("fork id: steer it while it runs, continue it after"),
  wait_s: WAIT_S.describe("seconds to wait for the result, 0 to 600"),
};

interface Start {
  readonly request: {
    readonly prompt: string;
    readonly title?: string | undefined;
    readonly agent?: string | undefined;
  };
  readonly waitS: number;
}

async function start(setup: ToolSetup, tool: ToolContext, { request, waitS }: Start): Promise<string> {
  const { context, forks } = setup;
  const { prompt, title, agent } = request;
  const outcome = await launchFork({
    context,
    forks,
    request: {
      sessionId: tool.sessionID,
      caller: tool.agent,
      prompt,
      title: title || titleOf(prompt),
      ...(agent === undefined ? {} : { agent }),
      ...(tool.extra?.model === undefined ? {} : { model: tool.extra.model }),
    },
  });
  if (outcome.status === "refused") return outcome.reason;
  const result = await resultInTime(setup, tool, { record: outcome.record, waitS });
  return result ?? startedText(outcome);
}

function startedText({ record, inherited, place }: Launched): string {
  const what = place === "queue" ? "is queued and starts when another ends" : "started";
  const context =
    inherited.way === "none"
      ? `WARNING: no context was inherited (${inherited.reason}); it knows only your prompt.`
      : `It inherited ${sizeText(record.inherited)} (${inherited.way}: ${inherited.reason}).`;
  return `Fork ${record.number} ${what}. ${context} Its result will be delivered to you; do not poll. Go on with other work, or end your turn.`;
}

interface Speak {
  readonly name: string;
  readonly prompt: string;
  readonly agent?: string | undefined;
  readonly waitS: number;
}

async function speak(
  setup: ToolSetup,
  tool: ToolContext,
  { name, prompt, agent, waitS }: Speak,
): Promise<string> {
  const { context, forks } = setup;
  const root = await context.tree.rootOf(tool.sessionID);
  if ((await forks.bonds.bondOf(tool.sessionID)) !== undefined) {
    return "You are a fork and cannot speak to forks. Do it yourself.";
  }
  const record = findFork(forks.keeper.all(), { rootSessionId: root, name });
  if (record === undefined) return `There is no fork "${name}". Call fork_result without an id for a list.`;
  if (agent !== undefined && agent !== record.agent) {
    return `Nothing was done: fork ${record.number} goes on as agent "${record.agent}" with the context it has; resume does not take another agent. Leave agent out, or start a new fork.`;
  }
  const admission = admitFork(forks.view(), { type: "resume", forkId: record.id });
  if (admission.status === "refused") return admission.text;
  const requestId = tool.callID ?? tool.messageID;
  const told = await forks.keeper.tell(record.id, { type: "resume-asked", directive: prompt, requestId });
  if (told === undefined) return `Nothing was done: the record of fork ${record.number} could not be stored.`;
  const result = await resultInTime(setup, tool, { record, waitS });
  if (result !== undefined) return result;
  return admission.place === "steer"
    ? `Fork ${record.number} was told. Its result will be delivered to you; do not poll.`
    : `Fork ${record.number} continues where it ended. Its result will be delivered to you; do not poll.`;
}

async function resultInTime(
  { context, forks }: ToolSetup,
  tool: ToolContext,
  { record, waitS }: { readonly record: ForkRecord; readonly waitS: number },
): Promise<string | undefined> {
  if (waitS === 0) return undefined;
  tool.metadata({ title: `Fork ${record.number}: ${record.title}` });
  const run = await forks.waitForEnd(record.id, { limitMs: waitS * 1_000, signal: tool.abort });
  return run === undefined ? undefined : resultOf({ context, forks }, record.id);
}

function titleOf(prompt: string): string {
  const [line = ""] = prompt.split("\n");
  return line.length <= 60 ? line : `${line.slice(0, 57).trimEnd()}...`;
}
