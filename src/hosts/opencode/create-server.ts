import { createViewCapture } from "./capture/view-capture.ts";
import { combineHooks, type Feature } from "./combine-hooks.ts";
import { createDeliveryFeature } from "./delivery/delivery-feature.ts";
import { createChildEventsFeature } from "./forks/child-events-feature.ts";
import { createForks } from "./forks/create-forks.ts";
import { createForkBonds } from "./forks/fork-bonds.ts";
import { createForkClockFeature } from "./forks/fork-clock-feature.ts";
import { createCacheAffinityFeature } from "./graft/cache-affinity-feature.ts";
import { createGraftFeature } from "./graft/graft-feature.ts";
import { createPrefixCheckFeature } from "./graft/prefix-check-feature.ts";
import type { Hooks, PluginInput } from "./host.ts";
import { createHostCalls } from "./host-calls.ts";
import { createNotify, type Notify } from "./notify.ts";
import { createChildRestrictionsFeature } from "./permissions/child-restrictions-feature.ts";
import { createFileWritersFeature } from "./permissions/file-writers-feature.ts";
import { createPluginContext, type PluginContext } from "./plugin-context.ts";
import { readPluginOptions } from "./plugin-options.ts";
import { createToolsFeature } from "./tools/tools-feature.ts";
import { createBoundToolOutput } from "./window/bound-tool-output.ts";
import { createCompactionContext } from "./window/compaction-context.ts";
import { createControlFeature } from "./window/control-feature.ts";
import { createModelWindows } from "./window/model-windows.ts";
import { createPinnedTexts } from "./window/pinned-texts.ts";
import { createPruneWindow } from "./window/prune-window.ts";
import { createRecordRequests } from "./window/record-requests.ts";

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
    [tellProblems(problems, notify), ...featuresOf(context)],
    ({ feature, hook, cause, sessionId }) => {
      if (sessionId !== undefined)
        context.record(sessionId, { type: "hook-failed", feature, hook, reason: String(cause) });
      notify.log("error", `${feature}: ${hook} failed and changed nothing`, { cause: String(cause) });
      notify.toastOnce(`${feature} failed in ${hook}; the conversation goes on without it.`, "error");
    },
  );
}

/** Logs what is wrong with the options at once, and shows it when somebody is there to see it. */
function tellProblems(problems: readonly string[], notify: Notify): Feature {
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
  const bonds = createForkBonds(context.calls);
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
