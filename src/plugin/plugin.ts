import { overflowOfEnvironment } from "../compaction/trigger/overflow.ts";
import { createPluginContext, type Environment, type PluginContext } from "./context/context.ts";
import { readPluginOptions } from "./context/options.ts";
import { createControlFeature } from "./control.ts";
import { createDeliveryFeature } from "./delivery/delivery.ts";
import { createForkLinks } from "./forks/child.ts";
import { createChildEventsFeature, createChildGuards, createGraftFeature } from "./forks/children.ts";
import { createForkClockFeature } from "./forks/clock.ts";
import { createForks, type ForkSetup } from "./forks/forks.ts";
import type { AgentHost, AgentPlugin } from "./host/agent-host.ts";
import { combineFeatures, createLruMap, type Feature } from "./host/features.ts";
import { createLoadedNotice } from "./loaded.ts";
import { createViewCapture } from "./stores/views.ts";
import { createForkCancelTool, createForkResultTool, createForkTool } from "./tools/fork-tools.ts";
import { createRecallTool } from "./tools/tools.ts";
import { createBoundToolOutput } from "./window/bound-output.ts";
import { createCompactionContext } from "./window/compaction.ts";
import { createModelWindows } from "./window/models.ts";
import { createOwnCompaction } from "./window/own-compaction.ts";
import { createPinnedTexts } from "./window/pins.ts";
import { createPruneWindow } from "./window/prune.ts";

/**
 * The plugin of any coding agent: an adapter gives the agent as an `AgentHost` and calls the handlers that come back.
 * Each feature decides on its own at the moments it cares about: `window/` bounds outputs, prunes, keeps pins and helps the
 * agent's own compaction; `forks/` starts background agents that inherit the conversation and follows their lives;
 * `delivery/` brings their results to their parents, each once; `tools/` is what the model can call; `control.ts` answers the
 * command line. Everything that is kept lies in `stores/`. A feature that fails has no effect, and the conversation goes on.
 */
export function createPlugin(
  host: AgentHost,
  options: unknown,
  { env, now }: PluginEnvironment,
): AgentPlugin {
  const read = readPluginOptions(options);
  const context = createPluginContext({ host, options: read.options, env, ...(now && { now }) });
  return combineFeatures(
    read.problems.length > 0 ? [reportProblems(context, read.problems)] : featuresOf(context),
    ({ feature, handler, cause, sessionId }) => {
      const { notify } = context;
      const entry = { type: "hook-failed", feature, hook: handler, reason: String(cause) };
      if (sessionId !== undefined) context.record(sessionId, entry);
      notify.log("error", `${feature}: ${handler} failed and changed nothing`, { cause: String(cause) });
      notify.toastOnce(`${feature} failed in ${handler}; the conversation goes on without it.`, "error");
    },
  );
}

interface PluginEnvironment {
  readonly env: Environment;
  /** Where the present time comes from, in milliseconds; the system's clock where unset. */
  readonly now?: () => number;
}

/** In the order in which they are asked at each moment. */
function featuresOf(context: PluginContext): readonly Feature[] {
  const capture = createViewCapture();
  const links = createForkLinks(context.host);
  const windows = createModelWindows(context.options, overflowOfEnvironment(context.env));
  const forks = createForks({ context, capture, views: context.stores.views, links, windows });
  const pins = createPinnedTexts(context.options.pin);
  const isChild = async (sessionId: string): Promise<boolean> =>
    (await links.linkOf(sessionId)) !== undefined;
  const inheritedFrom = async (sessionId: string): Promise<string | undefined> => {
    const link = await links.linkOf(sessionId);
    return link?.way === "text" ? undefined : link?.parent;
  };
  const pruning = createPruneWindow({ context, pins, windows, isChild });
  const delivery = createDeliveryFeature({ context, forks });
  const roster = async (sessionId: string): Promise<string | undefined> =>
    delivery.beforeCompaction?.({ sessionId });
  const compaction = createOwnCompaction({ context, pins, windows, roster });
  return [
    createLoadedNotice(context),
    { name: "session tree", onSignal: async (signal) => context.tree.observe(signal) },
    createRequestJournal(context),
    windows.feature,
    createBoundToolOutput(context),
    createControlFeature({ context, forks, pruning, compaction, control: context.stores.control }),
    compaction.feature,
    pruning.feature,
    createCompactionContext({ context, pins, capture, windows, inheritedFrom }),
    createToolsFeature({ context, forks }),
    createChildGuards({ context, forks }),
    createChildEventsFeature({ context, forks }),
    createGraftFeature({ context, forks }),
    createForkClockFeature({ context, forks }),
    delivery,
    createStoreWatch(context),
  ];
}

/** The tools for the model, and the command for the person. */
function createToolsFeature(setup: ForkSetup): Feature {
  return {
    name: "tools",
    tools: {
      fork: createForkTool(setup),
      fork_result: createForkResultTool(setup),
      fork_cancel: createForkCancelTool(setup),
      recall: createRecallTool(setup),
    },
    commands: {
      handoff: {
        description: "Hand a task to a background agent that knows this conversation",
        // Some agents show it as the user's own words.
        template:
          "Hand this over with the tool fork, then go on with your own work (if nothing follows, ask me what): $ARGUMENTS",
      },
    },
  };
}

/**
 * Says what is wrong with the options, in the log at once and to the person when one is there. Nothing else starts: half
 * of what was asked for is not what was asked for.
 */
function reportProblems({ notify }: PluginContext, problems: readonly string[]): Feature {
  const name = "options";
  const message = `Carryover does nothing until its options are corrected: ${problems.join("; ")}`;
  notify.log("error", message);
  return {
    name,
    async onUserMessage() {
      notify.toastOnce(message, "warning");
      return undefined;
    },
  };
}

/** Journals what each request of the model cost: tokens, what came from the provider's cache, and money. */
export function createRequestJournal(context: PluginContext): Feature {
  const seen = createLruMap<string, true>(MAX_SEEN);
  return {
    name: "request journal",
    async onSignal(signal) {
      if (signal.type !== "answer" || seen.get(signal.request.messageId)) return;
      seen.set(signal.request.messageId, true);
      context.record(signal.sessionId, { ...signal.request });
    },
  };
}

/** An answer is told about several times, and soon. */
const MAX_SEEN = 4_096;

/** Opens the stores with the first message, in the background, and says so if they cannot be used. */
function createStoreWatch({ stores, notify }: PluginContext): Feature {
  let hasOpened = false;
  const open = async (): Promise<void> => {
    const opened = await stores.open();
    if (opened.status === "open") return;
    notify.log("error", `the store cannot be used: ${opened.reason}`, { code: opened.code });
    notify.toastOnce(`Nothing can be kept now: ${opened.reason}`, "error");
  };
  return {
    name: "stores",
    async onUserMessage() {
      if (hasOpened) return undefined;
      hasOpened = true;
      open().catch((cause: unknown) =>
        notify.log("error", "the store cannot be used", { cause: String(cause) }),
      );
      return undefined;
    },
    dispose: () => stores.close(),
  };
}
