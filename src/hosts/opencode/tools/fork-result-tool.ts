import { z } from "zod";
import { opencode } from "../../../formats/opencode/opencode.ts";
import { activityOf } from "../../../tasks/activity-of.ts";
import { findFork } from "../../../tasks/find-fork.ts";
import { currentRun, type ForkRecord, isLive } from "../../../tasks/fork-record.ts";
import { forkTable } from "../../../tasks/fork-table.ts";
import { spanText } from "../../../tasks/fork-texts.ts";
import { quoteChild } from "../../../tasks/result-notice.ts";
import { renderMessage } from "../../../transcript/render.ts";
import { sessionMessages } from "../forks/child-session.ts";
import type { ToolContext, ToolDefinition } from "../host.ts";
import { createRecentMap } from "../recent-map.ts";
import { defineTool, WAIT_S } from "./define-tool.ts";
import { resultOf } from "./fork-results.ts";
import type { ToolSetup } from "./tool-setup.ts";

/** Shows what forks there are, what one reported, or what it did. */
export function createForkResultTool(setup: ToolSetup): ToolDefinition {
  const { context, forks } = setup;
  const askedAtMs = createRecentMap<string, number>(MAX_ASKED);
  return defineTool({
    description: "Read a fork's report again, or its transcript. Without id: a table of all forks.",
    args: SHAPE,
    async run({ id, wait_s = 0, view = "result", after = 0, limit = 20 }, tool) {
      const root = await context.tree.rootOf(tool.sessionID);
      const records = forks.keeper.all().filter((record) => record.rootSessionId === root);
      if (id === undefined) return forkTable(records, context.now());
      const record = findFork(records, { rootSessionId: root, name: id });
      if (record === undefined) return `There is no fork "${id}". ${forkTable(records, context.now())}`;
      if (view === "transcript") return transcriptOf(setup, record, { after, limit });
      return isLive(currentRun(record))
        ? running(record, tool, wait_s)
        : ((await resultOf(setup, record.id)) ?? "");
    },
  });

  async function running(record: ForkRecord, tool: ToolContext, waitS: number): Promise<string> {
    const now = context.now();
    const isTooSoon = now - (askedAtMs.get(record.id) ?? Number.NEGATIVE_INFINITY) < ASK_AGAIN_MS;
    askedAtMs.set(record.id, now);
    if (isTooSoon)
      return `Fork ${record.number} still runs. Do not poll: its result will be delivered to you.`;
    if (waitS > 0) {
      await forks.waitForEnd(record.id, { limitMs: waitS * 1_000, signal: tool.abort });
      const result = await resultOf(setup, record.id);
      if (result !== undefined) return result;
    }
    const run = currentRun(forks.keeper.get(record.id) ?? record);
    const state = isLive(run) && run.state === "running" ? activityOf(run, context.now()) : run.state;
    return `Fork ${record.number} is not done (${state}, ${spanText(context.now() - run.queuedAtMs)}). Its result will be delivered to you; do not poll.`;
  }
}

const SHAPE = {
  id: z.string().min(1).optional(),
  wait_s: WAIT_S.describe("0 to 600"),
  view: z.enum(["result", "transcript"]).optional(),
  after: z.number().int().min(0).optional().describe("transcript: skip so many messages"),
  limit: z.number().int().min(1).max(100).optional().describe("1 to 100"),
};

/** Asking for a running fork again within this time is polling. */
const ASK_AGAIN_MS = 30_000;
const MAX_ASKED = 1_024;
const MESSAGE_CHARS = 2_000;
const TRANSCRIPT_CHARS = 30_000;

async function transcriptOf(
  { context }: ToolSetup,
  record: ForkRecord,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<string> {
  if (record.childSessionId === undefined) return `Fork ${record.number} has not started yet.`;
  const stored = await sessionMessages(context.calls, record.childSessionId);
  if (stored.status === "failed")
    return `The transcript of fork ${record.number} cannot be read: ${stored.reason}`;
  const messages = opencode.decode(stored.value);
  const shown: string[] = [];
  let usedChars = 0;
  for (const [index, message] of messages.entries()) {
    if (index < after) continue;
    const text = `[${index + 1}] ${quoteChild(renderMessage(message), MESSAGE_CHARS)}`;
    usedChars += text.length;
    if (shown.length >= limit || usedChars > TRANSCRIPT_CHARS) break;
    shown.push(text);
  }
  const until = after + shown.length;
  const rest = messages.length > until ? ` More: after ${until}.` : "";
  return [
    `Messages ${after + 1} to ${until} of ${messages.length} of fork ${record.number}.${rest}`,
    ...shown,
  ].join("\n");
}
