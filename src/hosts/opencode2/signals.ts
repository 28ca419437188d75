import { askText, requestTokens } from "../../agents/opencode/read-facts.ts";
import { classifyProviderError } from "../../compaction/provider-errors/classify-provider-error.ts";
import type { ForkError } from "../../fork/life/record.ts";
import { readTokens } from "../../formats/wires/opencode/decode-messages.ts";
import type { AgentPlugin, HostSignal } from "../../plugin/host/agent-host.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { asNumber, asObject, asString, omitUndefined, type UnknownObject } from "../../text/unknown-value.ts";
import type { AnswerFacts } from "./answer-facts.ts";
import type { ModelList } from "./model-list.ts";
import { isOwnId } from "./own-ids.ts";
import type { Sessions } from "./sessions.ts";

/** Tells the plugin what the events of OpenCode 2 mean, in their order, until `stop` is called. */
export function followEvents(events: AsyncIterable<unknown>, setup: SignalsSetup): { stop(): void } {
  const { plugin, onFailure } = setup;
  const readEvent = createSignalReader(setup);
  const iterator = events[Symbol.asyncIterator]();
  let isStopped = false;
  let isReady = false;
  const follow = async (): Promise<void> => {
    while (!isStopped) {
      const { done, value } = await iterator.next();
      if (done || isStopped) return;
      if (!isReady) {
        isReady = true;
        void plugin.onSignal({ type: "ready" });
      }
      try {
        await readEvent(asObject(value));
      } catch (cause) {
        onFailure("event", cause);
      }
    }
  };
  follow().catch((cause: unknown) => onFailure("events", cause));
  return {
    stop() {
      isStopped = true;
      // The subscription of an instance that was unloaded would go on for ever.
      void iterator.return?.()?.catch(() => {});
    },
  };
}

interface SignalsSetup {
  readonly plugin: AgentPlugin;
  readonly directory: string;
  readonly sessions: Sessions;
  readonly answers: AnswerFacts;
  readonly models: ModelList;
  readonly onFailure: (what: string, cause: unknown) => void;
}

/** Reads one event after the other. They come from all folders of the program: those of others are left alone. */
function createSignalReader(setup: SignalsSetup): (event: UnknownObject) => Promise<void> {
  const { plugin, directory, sessions, answers, models } = setup;
  const ours = createLruMap<string, boolean>(MAX_SESSIONS);
  /** Messages of programs, ours among them, that are still on their way into a session. */
  const programs = createLruMap<string, true>(MAX_SESSIONS);
  const emit = (signal: HostSignal): void => void plugin.onSignal(signal);

  async function isOurs(sessionId: string, location: unknown): Promise<boolean> {
    const named = asString(asObject(location).directory);
    if (named !== undefined) ours.set(sessionId, named === directory);
    const known = ours.get(sessionId);
    if (known !== undefined) return known;
    const found = await sessions.directoryOf(sessionId);
    const isHere = found === directory;
    if (found !== undefined) ours.set(sessionId, isHere);
    return isHere;
  }

  async function tellChanged(sessionId: string, type: "created" | "updated"): Promise<void> {
    const facts = await sessions.get(sessionId);
    if (facts.status === "ok") emit({ type, session: facts.value });
  }

  function setStatus(sessionId: string, type: "busy" | "idle" | "retry"): void {
    sessions.setStatus(sessionId, type);
    emit({ type, sessionId });
  }

  function tellAnswer(sessionId: string, data: UnknownObject): void {
    const messageId = asString(data.assistantMessageID) ?? "";
    const error = readError(data.error);
    const usage = readTokens(data.tokens);
    answers.learn(
      messageId,
      omitUndefined({
        endedAtMs: Date.now(),
        finish: asString(data.finish),
        usage,
        error: error && { name: error.kind, text: error.message },
      }),
    );
    const { model } = answers.of(messageId) ?? {};
    emit({
      type: "answer",
      sessionId,
      isFinished: data.finish !== undefined,
      request: {
        type: "request",
        messageId,
        model: `${model?.provider ?? "?"}/${model?.id ?? "?"}`,
        ...requestTokens(usage),
        costUSD: asNumber(data.cost) ?? 0,
        ...(error && { error: error.kind }),
      },
    });
  }

  return async ({ type, data: given, location }) => {
    if (type === "catalog.updated" || type === "model.updated") return models.refresh();
    const data = asObject(given);
    const sessionId = asString(data.sessionID);
    if (sessionId === undefined || !(await isOurs(sessionId, location))) return;
    switch (type) {
      case "session.created":
        return tellChanged(sessionId, "created");
      case "session.deleted":
        await sessions.forget(sessionId);
        return emit({ type: "deleted", sessionId });
      case "session.usage.updated":
      case "session.renamed":
      case "session.revert.staged":
      case "session.revert.cleared":
      case "session.revert.committed":
        return tellChanged(sessionId, "updated");
      case "session.execution.started":
        return setStatus(sessionId, "busy");
      case "session.retry.scheduled":
        return setStatus(sessionId, "retry");
      case "session.execution.succeeded":
        return setStatus(sessionId, "idle");
      case "session.execution.failed": {
        const error = readError(data.error);
        if (error !== undefined) emit({ type: "failed", sessionId, error });
        return setStatus(sessionId, "idle");
      }
      case "session.execution.interrupted": {
        if (sessions.wasRefused(sessionId)) return;
        if (data.reason === "user") emit({ type: "failed", sessionId, error: STOPPED });
        return setStatus(sessionId, "idle");
      }
      case "session.inbox.enqueued":
        if (asObject(data.item).type !== "user") programs.set(asString(data.inboxID) ?? "", true);
        return;
      case "session.inbox.delivered": {
        const messageId = asString(data.inboxID) ?? "";
        const isFromUser = !isOwnId(messageId) && programs.get(messageId) === undefined;
        programs.delete(messageId);
        if (isFromUser || isOwnId(messageId))
          void plugin.onUserMessage({ sessionId, messageId, from: isFromUser ? "user" : "plugin" });
        return;
      }
      case "session.step.started": {
        const { id, providerID, variant } = asObject(data.model);
        const model = { provider: asString(providerID) ?? "", id: asString(id) ?? "" };
        return answers.learn(
          asString(data.assistantMessageID) ?? "",
          omitUndefined({
            agent: asString(data.agent),
            model,
            variant: asString(variant),
            startedAtMs: Date.now(),
          }),
        );
      }
      case "session.step.ended":
      case "session.step.failed":
        return tellAnswer(sessionId, data);
      case "session.compaction.ended":
        return emit({ type: "compacted", sessionId });
      case "permission.asked": {
        const askId = asString(data.id) ?? "";
        sessions.asked(askId, sessionId);
        return emit({
          type: "permission-asked",
          sessionId,
          askId,
          what: askText(data.action, data.resources),
        });
      }
      case "permission.replied":
        return emit({ type: "permission-answered", sessionId, askId: asString(data.requestID) ?? "" });
    }
  };
}

const MAX_SESSIONS = 4_096;
const STOPPED: ForkError = { kind: "aborted", message: "it was stopped" };

/** An error of OpenCode 2 by the class of the provider's error. */
function readError(error: unknown): ForkError | undefined {
  if (error === undefined || error === null) return undefined;
  const { type, message, status } = asObject(error);
  if (type === "aborted") return STOPPED;
  const said = asString(message) ?? asString(type) ?? "unknown error";
  const { class: kind } = classifyProviderError({ message: said, statusCode: status });
  return { kind, message: said.slice(0, MAX_MESSAGE_CHARS) };
}

const MAX_MESSAGE_CHARS = 1_000;
