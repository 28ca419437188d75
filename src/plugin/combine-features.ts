import type { Feature } from "./context/context.ts";
import type { AgentPlugin, Handlers } from "./host/agent-host.ts";

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
        const { messages: sent, promptHead } = "promptHead" in edited ? edited : { messages: edited };
        // Asked for again: an adapter for which this is too late shows another list.
        const { messages } = request;
        messages.splice(0, messages.length, ...sent);
        if (promptHead !== undefined) request.promptHead = promptHead;
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
