import { combineFeatures } from "./combine-features.ts";
import {
  createPluginContext,
  type Environment,
  type Feature,
  type PluginContext,
} from "./context/context.ts";
import { readPluginOptions } from "./context/options.ts";
import { createControlFeature } from "./control.ts";
import { createDeliveryFeature } from "./delivery/fork-results.ts";
import { createChildEventsFeature } from "./forks/children/events.ts";
import { createChildGuards } from "./forks/children/guards.ts";
import { createGraftFeature } from "./forks/children/inherited-messages.ts";
import { createForkClockFeature } from "./forks/clock.ts";
import { createForks, type ForkSetup } from "./forks/forks.ts";
import type { AgentHost, AgentPlugin } from "./host/agent-host.ts";
import { createLoadedNotice } from "./loaded-notice.ts";
import { createRequestJournal } from "./request-journal.ts";
import { createForkTools } from "./tools/fork-tools.ts";
import { createRecallTool } from "./tools/recall-tool.ts";
import { createCompactionContext } from "./window/compaction.ts";
import { createOwnCompaction } from "./window/own-compaction.ts";
import { createPinnedTexts } from "./window/pins.ts";
import { createPruneWindow } from "./window/prune.ts";
import { createThoughtKeeper } from "./window/thoughts.ts";
import { createToolOutputTrimming } from "./window/trim-output.ts";

/**
 * The plugin of any coding agent: an adapter gives the agent as an `AgentHost` and calls the handlers that come back.
 * Each feature decides on its own at the moments it cares about: `window/` trims outputs, prunes, keeps pins and helps
 * the agent's own compaction; `forks/` starts background agents that inherit the conversation and follows their lives;
 * `delivery/` brings their results to their parents, each once; `tools/` is what the model can call; `control.ts`
 * answers the command line. Everything that is kept lies in `stores/`. A feature that fails has no effect, and the
 * conversation goes on.
 */
export function createPlugin(
  host: AgentHost,
  options: unknown,
  { env, now, scope }: PluginEnvironment,
): AgentPlugin {
  const read = readPluginOptions(options);
  const context = createPluginContext({ host, options: read.options, env, ...(now && { now }) });
  return combineFeatures(
    read.problems.length > 0 ? [reportProblems(context, read.problems)] : featuresOf(context, scope),
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
  /** Child: of a process that is itself the child of a fork, in whose life another one has the say. */
  readonly scope?: "child";
}

/** In the order in which they are asked at each moment; in a child's own process what is about its window. */
function featuresOf(context: PluginContext, scope: PluginEnvironment["scope"]): readonly Feature[] {
  // Not even made in a child: some have a clock, by which it would take over the forks of a parent that was killed.
  const ofParent = (create: () => readonly Feature[]) => (scope === "child" ? [] : create());
  const forks = createForks(context);
  const { capture, windows, forkLinkOf } = forks;
  const pins = createPinnedTexts(context.options.pin);
  const isChild = async (sessionId: string): Promise<boolean> => (await forkLinkOf(sessionId)) !== undefined;
  const inheritedFrom = async (sessionId: string): Promise<string | undefined> => {
    const link = await forkLinkOf(sessionId);
    return link?.mode === "text" ? undefined : link?.parent;
  };
  const inherited = async (sessionId: string): Promise<"unchanged" | "changed" | "nothing"> => {
    // The request of a child in a process of its own has other tools than the one before it.
    if (scope === "child") return "changed";
    const link = await forkLinkOf(sessionId);
    if (link === undefined) return "nothing";
    return link.mode === "full" ? "unchanged" : "changed";
  };
  const pruning = createPruneWindow({ context, pins, windows, isChild });
  const delivery = createDeliveryFeature({ context, forks });
  const roster = async (sessionId: string): Promise<string | undefined> =>
    delivery.beforeCompaction?.({ sessionId });
  const compaction = createOwnCompaction({ context, pins, windows, roster });
  const thoughts = createThoughtKeeper({ context, inherited });
  return [
    ...ofParent(() => [createLoadedNotice(context)]),
    createRequestJournal(context),
    thoughts.watch,
    windows.feature,
    createToolOutputTrimming(context),
    ...ofParent(() => [
      createControlFeature({ context, forks, pruning, compaction, control: context.stores.control }),
    ]),
    compaction.feature,
    ...ofParent(() => [pruning.feature]),
    createCompactionContext({ context, pins, capture, windows, inheritedFrom }),
    ...ofParent(() => [createToolsFeature({ context, forks })]),
    { name: "recall", tools: { recall: createRecallTool({ context, forks }) } },
    ...ofParent(() => [
      createChildGuards({ context, forks }),
      createChildEventsFeature({ context, forks }),
      createGraftFeature({ context, forks }),
      createForkClockFeature({ context, forks }),
      delivery,
    ]),
    // Behind every feature that edits a request.
    thoughts.feature,
    createStoreWatch(context),
  ];
}

/** The tools for the model, and the command for the person. */
function createToolsFeature(setup: ForkSetup): Feature {
  return {
    name: "tools",
    tools: createForkTools(setup),
    commands: {
      subtask: {
        description: "Hand a task to a background agent that knows this conversation",
        // Some agents show it as the user's own words.
        template:
          "Hand this over with the tool fork, then go on with your own work (if nothing follows, ask me what): $ARGUMENTS",
      },
      handoff: {
        description: "Now called /subtask",
        template: "Say only this to the user: /handoff is now called /subtask. Type: /subtask $ARGUMENTS",
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
