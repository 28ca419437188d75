import { createPluginContext, type PluginContext } from "../../plugin/context/context.ts";
import { readPluginOptions } from "../../plugin/context/options.ts";
import { createControlFeature } from "../../plugin/control.ts";
import { createDeliveryFeature } from "../../plugin/delivery/delivery.ts";
import {
  createChildEventsFeature,
  createChildRestrictionsFeature,
  createFileWritersFeature,
} from "../../plugin/forks/child-events.ts";
import { createForkClockFeature } from "../../plugin/forks/clock.ts";
import { createForks } from "../../plugin/forks/forks.ts";
import {
  createCacheAffinityFeature,
  createGraftFeature,
  createPrefixCheckFeature,
} from "../../plugin/forks/graft.ts";
import { createForkLinks } from "../../plugin/forks/links.ts";
import { combineHooks, type Feature } from "../../plugin/host/features.ts";
import { createRecordRequests } from "../../plugin/plugin.ts";
import { createViewCapture } from "../../plugin/stores/views.ts";
import { createToolsFeature } from "../../plugin/tools/tools.ts";
import { createBoundToolOutput } from "../../plugin/window/bound-output.ts";
import { createCompactionContext } from "../../plugin/window/compaction.ts";
import { createModelWindows } from "../../plugin/window/models.ts";
import { createPinnedTexts } from "../../plugin/window/pins.ts";
import { createPruneWindow } from "../../plugin/window/prune.ts";
import { createHostCalls, createNotify, type Notify } from "./calls.ts";
import type { Hooks, PluginInput } from "./hooks.ts";

/** The plugin as OpenCode loads it: reads the options, connects the features, and never throws. */
export async function createServer(input: PluginInput, rawOptions?: unknown): Promise<Hooks> {
  const { options, problems } = readPluginOptions(rawOptions);
  const calls = createHostCalls({ client: input.client, directory: input.directory });
  if (calls === undefined) return {};
  const notify = createNotify({ calls, level: options.log });
  const context = createPluginContext({
    options,
    directory: input.directory,
    calls,
    notify,
    env: process.env,
    attendance: process.argv[2] === "run" ? "headless" : "attended",
  });
  return combineHooks(
    [reportProblems(problems, notify), ...featuresOf(context)],
    ({ feature, hook, cause, sessionId }) => {
      if (sessionId !== undefined)
        context.record(sessionId, { type: "hook-failed", feature, hook, reason: String(cause) });
      notify.log("error", `${feature}: ${hook} failed and changed nothing`, { cause: String(cause) });
      notify.toastOnce(`${feature} failed in ${hook}; the conversation goes on without it.`, "error");
    },
  );
}

/** Logs what is wrong with the options at once, and shows it when somebody is there to see it. */
function reportProblems(problems: readonly string[], notify: Notify): Feature {
  if (problems.length === 0) return { name: "options", hooks: {} };
  const message = `Options that were not understood count as unset: ${problems.join("; ")}`;
  notify.log("error", message);
  return {
    name: "options",
    hooks: { "chat.message": async () => notify.toastOnce(message, "warning") },
  };
}

/** Looks with the first message whether the stores can be used, and says so if they cannot; nobody waits for it. */
function watchStores({ stores, notify }: PluginContext): Feature {
  let hasLooked = false;
  const look = async (): Promise<void> => {
    const opened = await stores.open();
    if (opened.status === "open") return;
    notify.log("error", `the store cannot be used: ${opened.reason}`, { code: opened.code });
    notify.toastOnce(`Nothing can be kept now: ${opened.reason}`, "error");
  };
  return {
    name: "stores",
    hooks: {
      "chat.message": async () => {
        if (hasLooked) return;
        hasLooked = true;
        look().catch((cause: unknown) =>
          notify.log("error", "the store cannot be used", { cause: String(cause) }),
        );
      },
      dispose: () => stores.close(),
    },
  };
}

/** In the order in which they see each hook. */
function featuresOf(context: PluginContext): readonly Feature[] {
  const capture = createViewCapture();
  const { views, control } = context.stores;
  const bonds = createForkLinks(context.calls);
  const windows = createModelWindows(context.options);
  const forks = createForks({ context, capture, views, bonds, windows });
  const pins = createPinnedTexts(context.options.pin);
  const isChild = async (sessionId: string): Promise<boolean> =>
    (await bonds.bondOf(sessionId)) !== undefined;
  const pruning = createPruneWindow({ context, pins, windows, isChild });
  return [
    { name: "session tree", hooks: { event: async ({ event }) => context.tree.observe(event) } },
    createRecordRequests(context),
    windows.feature,
    createBoundToolOutput(context),
    createControlFeature({ context, forks, pruning, control }),
    pruning.feature,
    createCompactionContext({ context, pins, capture }),
    createToolsFeature({ context, forks }),
    createChildRestrictionsFeature(bonds),
    createFileWritersFeature({ context, forks }),
    createChildEventsFeature({ context, forks }),
    createGraftFeature({ context, capture, views, bonds }),
    createCacheAffinityFeature(bonds),
    createPrefixCheckFeature({ context, forks }),
    createForkClockFeature({ context, forks }),
    createDeliveryFeature({ context, forks }),
    watchStores(context),
  ];
}
