import type { SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import type { HostScreen, ShownPiece } from "../../plugin/host/host-parts.ts";
import { textOrJson } from "../../text/json.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { asNumber, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import type { HostCalls } from "./host-calls.ts";
import { createMessageId } from "./message-id.ts";
import { carryoverNote } from "./messages.ts";

/**
 * OpenCode's screen. What is shown in a conversation is a part of an answer that is stored like any other, marked in its
 * metadata: `withoutShown` takes such parts out of every request. In `opencode run` there is no screen.
 */
export function createScreen(calls: HostCalls, attendance: "attended" | "headless"): HostScreen {
  const places = createLruMap<string, Place>(MAX_PLACES);
  const underWay = createLruMap<string, Promise<unknown>>(MAX_PLACES);

  async function messagesOf(sessionId: string, limit?: number): Promise<readonly SessionMessage[]> {
    const query = limit === undefined ? "" : `?limit=${limit}`;
    const answer = await calls.call("GET", `/session/${encodeURIComponent(sessionId)}/message${query}`);
    return answer.status === "ok" && Array.isArray(answer.body) ? answer.body : [];
  }

  /** Where a piece stands already, or is to stand. */
  async function placeOf({ sessionId, key, callId }: ShownPiece): Promise<Place | undefined> {
    const newest = await messagesOf(sessionId, NEWEST);
    const found = findShown(newest, key) ?? placeBelow(newest, callId);
    if (found !== undefined) return found;
    if (callId !== undefined) {
      const all = await messagesOf(sessionId);
      return findShown(all, key) ?? placeBelow(all, callId);
    }
    const answer = newest.findLast(({ info }) => info.role === "assistant" && info.summary !== true);
    return answer && newPlace(answer);
  }

  async function show(piece: ShownPiece): Promise<"shown" | "not-shown"> {
    const { sessionId, key } = piece;
    const id = `${sessionId} ${key}`;
    const place = places.get(id) ?? (await placeOf(piece));
    if (place === undefined) return "not-shown";
    places.set(id, place);
    const { messageId: messageID, partId, startedAtMs } = place;
    const path = `/session/${encodeURIComponent(sessionId)}`;
    const session = await calls.call("GET", path);
    const { revert, parentID } = session.status === "ok" ? asObject(session.body) : {};
    // After an undo the conversation is the user's alone until they go on.
    if (session.status === "failed" || revert !== undefined) return "not-shown";
    // The last text of a sub-agent is its result.
    if (parentID !== undefined && plainText(piece) !== undefined) return "not-shown";
    const answer = await calls.call("PATCH", `${path}/message/${messageID}/part/${partId}`, {
      id: partId,
      sessionID: sessionId,
      messageID,
      metadata: { carryover: { shown: key } },
      ...partOf(piece, { callId: `carryover_${partId}`, startedAtMs, nowMs: Date.now() }),
    });
    return answer.status === "ok" ? "shown" : "not-shown";
  }

  return {
    toast(message, variant, { durationMs: duration } = {}) {
      void calls.call("POST", "/tui/show-toast", {
        title: "Carryover",
        message,
        variant,
        ...(duration !== undefined && { duration }),
      });
    },
    show(piece) {
      if (attendance === "headless") return Promise.resolve("not-shown");
      // One after the other for each piece, so that the newest stays.
      const id = `${piece.sessionId} ${piece.key}`;
      const shown = (underWay.get(id) ?? Promise.resolve()).then(() => show(piece));
      underWay.set(id, shown);
      return shown;
    },
    async open(sessionID) {
      const answer = await calls.call("POST", "/tui/select-session", { sessionID });
      return answer.status === "ok" ? "opened" : "not-opened";
    },
  };
}

/** Where a part is stored. */
interface Place {
  readonly messageId: string;
  readonly partId: string;
  readonly startedAtMs: number;
}

const MAX_PLACES = 1_024;

/** The messages among which the newest answer is, and the call that runs. */
const NEWEST = 8;

function newPlace({ info }: SessionMessage): Place {
  const nowMs = Date.now();
  // Ids sort by time, and parts stand in the order of their ids.
  const partId = createMessageId(nowMs).replace("msg_", "prt_");
  return { messageId: textOrJson(info.id), partId, startedAtMs: nowMs };
}

function placeBelow(messages: readonly SessionMessage[], callId: string | undefined): Place | undefined {
  if (callId === undefined) return undefined;
  const message = messages.findLast(({ parts }) => parts.some(({ callID }) => callID === callId));
  return message && newPlace(message);
}

function findShown(messages: readonly SessionMessage[], key: string): Place | undefined {
  for (const { info, parts } of messages) {
    const part = parts.find(({ metadata }) => carryoverNote(metadata).shown === key);
    const partId = asString(part?.id);
    if (part === undefined || partId === undefined) continue;
    const startedAtMs = asNumber(asObject(asObject(part.state).time).start) ?? Date.now();
    return { messageId: textOrJson(info.id), partId, startedAtMs };
  }
  return undefined;
}

/** A piece as the part that OpenCode draws as it should look. Should a part ever reach a model, its names are such as providers take. */
function partOf(piece: ShownPiece, { callId, startedAtMs, nowMs }: PartFacts): UnknownObject {
  const plain = plainText(piece);
  // Without an end: `opencode run --attach` prints texts that have one. Apart from the answer before it: without the plugin
  // the texts of one message are sent as one, and OpenCode draws them without the lines in front.
  if (plain !== undefined) return { type: "text", text: `\n\n${plain}`, time: { start: startedAtMs } };
  const tool = { type: "tool", callID: callId };
  const ended = { start: startedAtMs, end: nowMs };
  if (piece.type === "line") {
    const input = { [piece.label]: piece.text };
    const state = {
      status: "completed",
      input,
      output: piece.text,
      title: piece.text,
      metadata: {},
      time: ended,
    };
    return { ...tool, tool: "carryover", state };
  }
  if (piece.type === "text") return {};
  const { name, text, childSessionId, state } = piece;
  const facts = {
    input: { subagent_type: name, description: text, prompt: "" },
    metadata: { background: true, ...(childSessionId !== undefined && { sessionId: childSessionId }) },
  };
  // OpenCode's own sub-agents: a line with the newest step, and a click leads to the session.
  switch (state) {
    case "running":
      return {
        ...tool,
        tool: "task",
        state: { ...facts, status: state, title: text, time: { start: startedAtMs } },
      };
    case "ended":
      return {
        ...tool,
        tool: "task",
        state: { ...facts, status: "completed", output: text, title: text, time: ended },
      };
    case "failed":
      return { ...tool, tool: "task", state: { ...facts, status: "error", error: text, time: ended } };
  }
}

/** What is drawn as a text. OpenCode asks the model again after an answer with a tool part, so only one that called a tool gets such a part. */
function plainText(piece: ShownPiece): string | undefined {
  if (piece.type === "text") return piece.text;
  return piece.type === "line" && piece.callId === undefined ? `*${piece.label}: ${piece.text}*` : undefined;
}

interface PartFacts {
  readonly callId: string;
  readonly startedAtMs: number;
  readonly nowMs: number;
}
