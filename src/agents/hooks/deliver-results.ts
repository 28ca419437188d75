import { randomUUID } from "node:crypto";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { createPluginContext, type Feature, type PluginContext } from "../../plugin/context/context.ts";
import { createDeliveryFeature } from "../../plugin/delivery/fork-results.ts";
import { createForkAdoption, isUnfinished } from "../../plugin/forks/adopt-forks.ts";
import { createForks } from "../../plugin/forks/forks.ts";
import { asString } from "../../text/unknown-value.ts";
import { createFileHost } from "../files/file-host.ts";
import { unmarkWaiting, waitingForks } from "../files/process-notes.ts";
import type { HookSession } from "./hook-session.ts";

/** Takes the results that wait for a session; a fork whose result it has got needs no hook any more. */
async function takeResults(
  context: PluginContext,
  { sessionId, take }: TakenBy,
): Promise<string | undefined> {
  const setup = { context, forks: createForks(context) };
  const marked = waitingForks(context.env, sessionId);
  await createForkAdoption(setup).takeRoot(await context.tree.rootOf(sessionId));
  const text = await take(createDeliveryFeature(setup));
  for (const forkId of marked) {
    const found = await setup.forks.store.get(forkId);
    const record = found.status === "found" ? readForkRecord(found.value) : undefined;
    if (found.status === "missing" || (record !== undefined && !isUnfinished(record)))
      unmarkWaiting(context.env, sessionId, forkId);
  }
  return text;
}

interface TakenBy {
  readonly sessionId: string;
  readonly take: (delivery: Feature) => Promise<string | undefined>;
}

/** The results of forks that wait for the session of a hook, as its answer. */
export async function deliverResults(session: HookSession): Promise<string | undefined> {
  const { agent, payload, sessionId } = session;
  const isPrompt = payload.hook_event_name === "UserPromptSubmit";
  const messageId = asString(payload.prompt_id) ?? asString(payload.turn_id) ?? randomUUID();
  const finished = {
    sessionId,
    callId: asString(payload.tool_use_id) ?? "",
    tool: asString(payload.tool_name) ?? "",
    text: "",
    whole: async () => ({ text: "" }),
  };
  const take = async (delivery: Feature): Promise<string | undefined> => {
    if (isPrompt) return delivery.onUserMessage?.({ sessionId, messageId, from: "user" });
    return (await delivery.afterTool?.(finished))?.text.trim();
  };
  const text = await takeResults(await openContext(session), { sessionId, take });
  return text === undefined ? undefined : agent.addContext(asString(payload.hook_event_name) ?? "", text);
}

/** The whole plugin in the session of a hook. */
export async function openContext(session: Omit<HookSession, "loadContext">): Promise<PluginContext> {
  const { loadAgent, options, env, log, directory, sessionId, file } = session;
  const host = createFileHost(await loadAgent(), {
    directory,
    env,
    log,
    findFile: async (id) => (id === sessionId ? file : undefined),
  });
  return createPluginContext({ host, options, env, usedBy: "hook" });
}
