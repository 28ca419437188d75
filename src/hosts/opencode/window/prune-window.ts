import { fields, stringField } from "../../../formats/fields.ts";
import type { SessionMessage } from "../../../formats/opencode/session-message.ts";
import type { UndoResult } from "../../../session/create-session.ts";
import { sessionOf } from "../capture/view-capture.ts";
import type { Feature } from "../combine-hooks.ts";
import { deletedSession } from "../deleted-session.ts";
import type { PluginContext } from "../plugin-context.ts";
import { createRecentMap } from "../recent-map.ts";
import type { ModelWindows } from "./model-windows.ts";
import type { PinnedTexts } from "./pinned-texts.ts";
import { type ModelName, openPrunedSession, type PrunedSession } from "./pruned-session.ts";

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
  const sessions = createRecentMap<string, OpenSession>(MAX_OPEN);
  const compacting = createRecentMap<string, true>(MAX_OPEN);
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

export interface PruneWindowSetup {
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
  const { providerID, modelID } = fields(info?.model);
  return { provider: stringField(providerID) ?? "", id: stringField(modelID) ?? "" };
}
