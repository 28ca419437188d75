import { askText, readSession, requestTokens } from "../../agents/opencode/read-facts.ts";
import { readTokens } from "../../formats/wires/opencode/decode-messages.ts";
import type { HostSignal } from "../../plugin/host/agent-host.ts";
import { asNumber, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import type { HostEvent } from "./hooks.ts";
import { readError } from "./read-error.ts";

/** What an event of OpenCode means to the plugin; undefined for an event that it does not care about. */
export function readSignal({ type, properties }: HostEvent): HostSignal | undefined {
  const info = asObject(properties.info);
  switch (type) {
    case "session.created":
    case "session.updated": {
      const session = readSession(info);
      return session && { type: type === "session.created" ? "created" : "updated", session };
    }
    case "session.deleted": {
      const sessionId = asString(info.id) ?? asString(properties.sessionID);
      return sessionId === undefined ? undefined : { type: "deleted", sessionId };
    }
    case "message.updated":
      return readAnswer(info);
  }
  const sessionId = asString(properties.sessionID);
  if (sessionId === undefined) return undefined;
  switch (type) {
    case "session.idle":
      return { type: "idle", sessionId };
    case "session.status": {
      const status = asObject(properties.status).type;
      return status === "busy" || status === "retry" ? { type: status, sessionId } : undefined;
    }
    case "session.compacted":
      return { type: "compacted", sessionId };
    case "session.error": {
      const error = readError(properties.error);
      return error && { type: "failed", sessionId, error };
    }
    case "permission.asked": {
      const askId = asString(properties.id);
      const what = askText(properties.permission, properties.patterns);
      return askId === undefined ? undefined : { type: "permission-asked", sessionId, askId, what };
    }
    case "permission.replied": {
      const askId = asString(properties.requestID);
      return askId === undefined ? undefined : { type: "permission-answered", sessionId, askId };
    }
  }
  return undefined;
}

/** An assistant message that is complete, as the request that it answers. */
function readAnswer(info: UnknownObject): HostSignal | undefined {
  const messageId = asString(info.id);
  const sessionId = asString(info.sessionID);
  const isComplete = asNumber(asObject(info.time).completed) !== undefined;
  if (info.role !== "assistant" || !isComplete || messageId === undefined || sessionId === undefined)
    return undefined;
  return {
    type: "answer",
    sessionId,
    isFinished: info.finish !== undefined,
    request: {
      type: "request",
      messageId,
      model: `${asString(info.providerID) ?? "?"}/${asString(info.modelID) ?? "?"}`,
      ...requestTokens(readTokens(info.tokens)),
      costUSD: asNumber(info.cost) ?? 0,
      ...(info.summary === true && { summary: true }),
      ...(info.error !== undefined && { error: asString(asObject(info.error).name) ?? "error" }),
    },
  };
}
