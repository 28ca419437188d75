import { createLruMap } from "../text/lru-map.ts";
import {
  createPluginContext,
  type Environment,
  type Feature,
  type PluginContext,
} from "./context/context.ts";
import { readPluginOptions } from "./context/options.ts";
import { createControlFeature, createLoadedNotice } from "./control.ts";
import { createDeliveryFeature } from "./delivery/delivery.ts";
import { createChildEventsFeature, createChildGuards, createGraftFeature } from "./forks/children.ts";
import { createForkClockFeature } from "./forks/clock.ts";
import { createForks, type ForkSetup } from "./forks/forks.ts";
import type { AgentHost, AgentPlugin, Handlers } from "./host/agent-host.ts";
import { createForkTools } from "./tools/fork-tools.ts";
import { createRecallTool } from "./tools/tools.ts";
import { createBoundToolOutput } from "./window/bound-output.ts";
import { createCompactionContext } from "./window/compaction.ts";
import { createOwnCompaction } from "./window/own-compaction.ts";
import { createPinnedTexts } from "./window/pins.ts";
import { createPruneWindow } from "./window/prune.ts";
import { createThoughtKeeper } from "./window/thoughts.ts";

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
    return link?.way === "text" ? undefined : link?.parent;
  };
  const inherited = async (sessionId: string): Promise<"unchanged" | "changed" | "nothing"> => {
    // The request of a child in a process of its own has other tools than the one before it.
    if (scope === "child") return "changed";
    const link = await forkLinkOf(sessionId);
    if (link === undefined) return "nothing";
    return link.way === "exact" ? "unchanged" : "changed";
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
    createBoundToolOutput(context),
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

/** A handler that threw; its feature had no effect at that moment. */
export interface FeatureFailure {
  readonly feature: string;
  readonly handler: keyof Handlers;
  readonly cause: unknown;
  /** Unset where the moment is about no session. */
  readonly sessionId?: string;
}

/**
 * All features as one plugin: handlers run in the order of the features, and one that throws is reported and skipped. Only what
 * holds a fork is not: then the fork's request or call goes no further.
 */
export function combineFeatures(
  features: readonly Feature[],
  onFailure: (failure: FeatureFailure) => void,
): AgentPlugin {
  /** What one feature decides; nothing where it has no such handler, or fails. */
  async function ask<Decision>(feature: Feature, moment: Moment<Decision>): Promise<Decision | undefined> {
    const { handler, sessionId, decide } = moment;
    try {
      return await decide(feature);
    } catch (cause) {
      onFailure({ feature: feature.name, handler, cause, ...(sessionId !== undefined && { sessionId }) });
      const isHolding = feature.holdsForks && (handler === "beforeRequest" || handler === "beforeTool");
      if (isHolding && sessionId !== undefined && (await isFork(sessionId))) throw cause;
      return undefined;
    }
  }

  async function isFork(sessionId: string): Promise<boolean> {
    const decide = (each: Feature) => each.isFork?.(sessionId);
    for await (const is of decisions({ handler: "isFork", sessionId, decide })) if (is) return true;
    return false;
  }

  async function* decisions<Decision>(moment: Moment<Decision>): AsyncGenerator<Decision> {
    for (const feature of features) {
      const decision = await ask(feature, moment);
      if (decision !== undefined) yield decision;
    }
  }

  return {
    async onSignal(signal) {
      const sessionId =
        "session" in signal ? signal.session.id : "sessionId" in signal ? signal.sessionId : undefined;
      const moment = {
        handler: "onSignal",
        sessionId,
        decide: (each: Feature) => each.onSignal?.(signal),
      } as const;
      // All at once: agents do not wait before the next signal, and a slow feature would make the others see them out of order.
      await Promise.all(features.map((feature) => ask(feature, moment)));
    },
    async beforeRequest(request) {
      const { sessionId } = request;
      const decide = (each: Feature) => each.beforeRequest?.(request);
      for await (const edited of decisions({ handler: "beforeRequest", sessionId, decide })) {
        const { messages: sent, frame } = "frame" in edited ? edited : { messages: edited };
        // Asked for again: an adapter for which this is too late shows another list.
        const { messages } = request;
        messages.splice(0, messages.length, ...sent);
        if (frame !== undefined) request.frame = frame;
      }
    },
    async beforeTool(call) {
      const { sessionId } = call;
      const decide = (each: Feature) => each.beforeTool?.(call);
      for await (const refusal of decisions({ handler: "beforeTool", sessionId, decide })) return refusal;
      return undefined;
    },
    async afterTool(finished, change) {
      const { sessionId } = finished;
      const decide = (each: Feature) => each.afterTool?.(finished);
      for await (const decided of decisions({ handler: "afterTool", sessionId, decide })) change(decided);
    },
    async beforeCompaction(session) {
      const decide = (each: Feature) => each.beforeCompaction?.(session);
      const texts: string[] = [];
      for await (const text of decisions({ handler: "beforeCompaction", ...session, decide }))
        texts.push(text);
      return texts;
    },
    async compact(moment) {
      const { sessionId } = moment;
      const decide = (each: Feature) => each.compact?.(moment);
      for await (const window of decisions({ handler: "compact", sessionId, decide })) return window;
      return undefined;
    },
    async onUserMessage(message) {
      const { sessionId } = message;
      const decide = (each: Feature) => each.onUserMessage?.(message);
      const texts: string[] = [];
      for await (const text of decisions({ handler: "onUserMessage", sessionId, decide })) texts.push(text);
      return texts;
    },
    async cacheOwnerOf(sessionId) {
      const decide = (each: Feature) => each.cacheOwnerOf?.(sessionId);
      for await (const owner of decisions({ handler: "cacheOwnerOf", sessionId, decide })) return owner;
      return undefined;
    },
    isFork,
    async dispose() {
      for (const feature of features)
        await ask(feature, { handler: "dispose", sessionId: undefined, decide: (each) => each.dispose?.() });
    },
    tools: Object.assign({}, ...features.map(({ tools }) => tools ?? {})),
    commands: Object.assign({}, ...features.map(({ commands }) => commands ?? {})),
  };
}

/** One handler at one moment. */
interface Moment<Decision> {
  readonly handler: keyof Handlers;
  readonly sessionId: string | undefined;
  readonly decide: (feature: Feature) => Promise<Decision | undefined> | undefined;
}
