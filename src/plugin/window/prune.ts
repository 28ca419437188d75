import type { Pin } from "../../compaction/summary/facts.ts";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import type { SessionMessage } from "../../formats/wires/opencode/session-message.ts";
import { createMemoizedDecode } from "../../hosts/opencode/decode.ts";
import { deletedSession } from "../../hosts/opencode/hooks.ts";
import { targetsOf } from "../../session/history.ts";
import { createSession, type Session, type UndoResult } from "../../session/session.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import { asNumber, asObject, asString } from "../../text/json.ts";
import type { Transcript } from "../../transcript/message.ts";
import type { PluginContext } from "../context/context.ts";
import type { Feature } from "../host/features.ts";
import { createEngineJournal } from "../stores/journal.ts";
import { createLruMap } from "../stores/lru-map.ts";
import { sessionOf } from "../stores/views.ts";
import type { ModelWindows } from "./models.ts";
import { missingPins, type PinnedTexts } from "./pins.ts";

/** Pruning as a feature of the plugin, and the way to take a batch back from outside. */
export interface PruneWindow {
  readonly feature: Feature;
  /** True for a session that this instance sends requests of. */
  isOpen(sessionId: string): boolean;
  /** Undefined for a session that is not open. */
  undo(sessionId: string): Promise<UndoResult | undefined>;
}

/**
 * Clears old outputs in what is sent, in batches, when that saves more than it costs to break the provider's cached prefix.
 * The same edits are made in every request from then on, after a restart too, so the bytes stay the same.
 */
export function createPruneWindow(setup: PruneWindowSetup): PruneWindow {
  const { context, windows, isChild } = setup;
  const { options } = context;
  const sessions = createLruMap<string, OpenSession>(MAX_OPEN);
  const compacting = createLruMap<string, true>(MAX_OPEN);
  const isOpen = (sessionId: string): boolean => sessions.get(sessionId) !== undefined;
  const undo = async (sessionId: string): Promise<UndoResult | undefined> =>
    (await sessions.get(sessionId)?.pruned)?.undo();
  if (options.prune === "off" || options.profile === "documented")
    return { feature: { name: "pruning", hooks: {} }, isOpen, undo };

  /** Opened anew for another model, and once more when its window is known: both decide what is cleared. */
  function sessionFor(sessionId: string, messages: readonly SessionMessage[]): Promise<PrunedSession> {
    const model = modelOf(messages);
    const name = `${model.provider}/${model.id}`;
    const key = `${name} ${windows.windowOf(name)?.contextTokens ?? "unknown"}`;
    const known = sessions.get(sessionId);
    if (known?.key === key) return known.pruned;
    const pruned = openPrunedSession({ ...setup, sessionId, model }, messages);
    sessions.set(sessionId, { key, pruned });
    pruned.catch(() => {
      if (sessions.get(sessionId)?.pruned === pruned) sessions.delete(sessionId);
    });
    return pruned;
  }

  return {
    isOpen,
    undo,
    feature: {
      name: "pruning",
      hooks: {
        // The request for a summary is made next: it is to see everything.
        "experimental.session.compacting": async ({ sessionID }) => compacting.set(sessionID, true),
        // Whoever speaks now does not wait for a summary: one that was announced has failed before its request.
        "chat.message": async ({ sessionID }) => compacting.delete(sessionID),
        event: async ({ event }) => {
          const deleted = deletedSession(event);
          if (deleted !== undefined) sessions.delete(deleted);
        },
        "experimental.chat.messages.transform": async (_, { messages }) => {
          const sessionId = sessionOf(messages);
          if (sessionId === undefined) return;
          if (compacting.get(sessionId)) return compacting.delete(sessionId);
          // A child's view begins with its parent's cached one: any edit there would cost more than it saves.
          if (await isChild(sessionId)) return;
          const pruned = await sessionFor(sessionId, messages);
          const edited = await pruned.edit(messages);
          if (edited !== messages) messages.splice(0, messages.length, ...edited);
        },
      },
    },
  };
}

interface PruneWindowSetup {
  readonly context: PluginContext;
  readonly pins: PinnedTexts;
  readonly windows: ModelWindows;
  readonly isChild: (sessionId: string) => Promise<boolean>;
}

/** Each holds a whole conversation; one that was forgotten is opened again from its journal, with the same edits. */
const MAX_OPEN = 32;

interface OpenSession {
  /** The model and its window. */
  readonly key: string;
  readonly pruned: Promise<PrunedSession>;
}

/** The model that the newest turn asks. */
function modelOf(messages: readonly SessionMessage[]): ModelName {
  const info = messages.findLast(({ info: { role } }) => role === "user")?.info;
  const { providerID, modelID } = asObject(info?.model);
  return { provider: asString(providerID) ?? "", id: asString(modelID) ?? "" };
}

/** One conversation whose old outputs are cleared in what is sent. */
interface PrunedSession {
  /** Decides whether more is cleared, and gives the list to send; the very same list when nothing is. */
  edit(messages: readonly SessionMessage[]): Promise<readonly SessionMessage[]>;
  /** Takes the newest batch back: it is sent again from the next request on. */
  undo(): Promise<UndoResult>;
}

interface PrunedSessionSetup {
  readonly context: PluginContext;
  readonly pins: PinnedTexts;
  readonly windows: ModelWindows;
  readonly sessionId: string;
  readonly model: ModelName;
}

/** The model that a request goes to. */
interface ModelName {
  readonly provider: string;
  readonly id: string;
}

/** Opens a conversation, with the edits that its journal tells of in force. */
async function openPrunedSession(
  setup: PrunedSessionSetup,
  messages: readonly SessionMessage[],
): Promise<PrunedSession> {
  const { context, pins, windows, sessionId, model } = setup;
  const name = `${model.provider}/${model.id}`;
  // The engine reads it at every decision: what is pinned grows with the conversation.
  const pinned: Pin[] = [];
  const session = createEngine(setup, pinned);
  const decode = createMemoizedDecode();
  const opened = decode(messages);
  await session.restore(opened);
  pinned.push(...pins.pinsOf(opened));
  await keepPins(messages, opened);

  /** Takes batches back, newest first, until the model sees everything pinned that it saw without them. */
  async function keepPins(sent: readonly SessionMessage[], before: Transcript): Promise<void> {
    const hidden = (): readonly Pin[] =>
      missingPins(pinned, { before, after: opencode.decode(withEdits(sent, session)) });
    if (session.status().batches.length === 0) return;
    const missing = hidden();
    const takenBack: string[] = [];
    for (let left = missing; left.length > 0; left = hidden()) {
      const undone = await session.undo();
      if (undone.status !== "undone") break;
      takenBack.push(undone.batch.id);
    }
    if (takenBack.length === 0) return;
    context.record(sessionId, { type: "pins-kept", pins: missing, batches: takenBack });
    context.notify.log("warn", "edits were taken back, since they hid something pinned", { missing });
  }

  return {
    async edit(sent) {
      const transcript = decode(sent);
      pinned.splice(0, pinned.length, ...pins.pinsOf(transcript));
      session.observe(transcript);
      const { estimate, batches } = session.status();
      if (estimate.tokens >= windows.thresholds(name).pruneAtTokens) {
        await session.prepare({ moment: "after-turn", idleMs: idleMsOf(sent, context.now()) });
        if (session.status().batches.length > batches.length) {
          await keepPins(sent, transcript);
          tellLastStep();
        }
      }
      return withEdits(sent, session);
    },
    undo: () => session.undo(),
  };

  function tellLastStep(): void {
    const step = session.ledger().at(-1);
    if (step !== undefined) context.notify.log("info", `${step.step}: ${step.reason}`, { ...step });
  }
}

function createEngine(
  { context, windows, sessionId, model }: PrunedSessionSetup,
  pins: readonly Pin[],
): Session {
  const name = `${model.provider}/${model.id}`;
  const { keepRecentTokens } = windows.thresholds(name);
  const window = windows.windowOf(name);
  return createSession(
    {
      clock: createSystemClock(),
      journal: createEngineJournal({
        journal: async () => context.journal(await context.tree.rootOf(sessionId)),
        sessionId,
        now: context.now,
      }),
    },
    {
      sessionId,
      model,
      pins,
      toolOutput: "off",
      prune: keepRecentTokens === undefined ? {} : { protectTokens: keepRecentTokens },
      compaction: { autoCompact: false, toolSummaryStrategy: "off" },
      ...(window && { limits: window }),
      ...(window?.cache && { cache: window.cache }),
    },
  );
}

/** The list with every batch of edits in force, each at its own time; only the messages that one speaks of are looked at. */
function withEdits(messages: readonly SessionMessage[], session: Session): readonly SessionMessage[] {
  let edited = messages;
  for (const { edits, at } of session.status().batches) {
    const targets = new Set(edits.flatMap(targetsOf));
    const isTarget = ({ info }: SessionMessage): boolean => targets.has(String(info.id));
    const applied = opencode.apply(edited.filter(isTarget), edits, { at });
    const byId = new Map(applied.map((message) => [message.info.id, message]));
    edited = edited.flatMap((message) => (isTarget(message) ? (byId.get(message.info.id) ?? []) : message));
  }
  return edited;
}

/** How long ago the model last answered: by then the provider may have dropped what it cached. */
function idleMsOf(messages: readonly SessionMessage[], nowMs: number): number {
  const answer = messages.findLast(({ info }) => info.role === "assistant" && isDone(info));
  const endedAtMs = asNumber(asObject(answer?.info.time).completed);
  return endedAtMs === undefined ? 0 : Math.max(0, nowMs - endedAtMs);
}

function isDone(info: SessionMessage["info"]): boolean {
  return asNumber(asObject(info.time).completed) !== undefined;
}
