import type { Pin } from "../../../compaction/pins.ts";
import { fields, stringField } from "../../../formats/fields.ts";
import { opencode } from "../../../formats/opencode/opencode.ts";
import type { SessionMessage } from "../../../formats/opencode/session-message.ts";
import { createSession, type Session } from "../../../session/create-session.ts";
import { createSystemClock } from "../../../stores/system-clock.ts";
import { sessionOf } from "../capture/view-capture.ts";
import type { Feature } from "../combine-hooks.ts";
import type { PluginContext } from "../plugin-context.ts";
import { createEngineJournal } from "./engine-journal.ts";
import type { ModelWindows } from "./model-windows.ts";
import { missingPins, type PinnedTexts } from "./pinned-texts.ts";

/**
 * Clears old outputs in what is sent, in batches, when that saves more than it costs to break the provider's cached prefix.
 * The same edits are made in every request from then on, after a restart too, so the bytes stay the same.
 */
export function createPruneWindow({ context, pins, windows, isChild }: PruneWindowSetup): Feature {
  const { options } = context;
  if (options.prune === "off" || options.profile === "documented") return { name: "pruning", hooks: {} };
  const sessions = new Map<string, PrunedSession>();
  const compacting = new Set<string>();

  async function open({ sessionId, messages, model }: Sent): Promise<PrunedSession> {
    const { keepRecentTokens } = windows.thresholds(model);
    const sessionPins: Pin[] = [];
    const session = createSession(
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
        pins: sessionPins,
        toolOutput: "off",
        prune: keepRecentTokens === undefined ? {} : { protectTokens: keepRecentTokens },
        compaction: { autoCompact: false, toolSummaryStrategy: "off" },
      },
    );
    await session.restore(opencode.decode(messages));
    return { session, model, pins: sessionPins, lastSentAtMs: context.now() };
  }

  return {
    name: "pruning",
    hooks: {
      // The request for a summary is made next: it is to see everything.
      "experimental.session.compacting": async ({ sessionID }) => void compacting.add(sessionID),
      event: async ({ event }) => {
        const deleted = event.properties.info as { readonly id?: string } | undefined;
        if (event.type === "session.deleted" && deleted?.id !== undefined) sessions.delete(deleted.id);
      },
      "experimental.chat.messages.transform": async (_, { messages }) => {
        const sessionId = sessionOf(messages);
        if (sessionId === undefined || compacting.delete(sessionId)) return;
        // A child's view begins with its parent's cached one: any edit there would cost more than it saves.
        if (await isChild(sessionId)) return;
        const sent: Sent = { sessionId, messages, model: modelOf(messages) };
        const known = sessions.get(sessionId);
        // What is pruned depends on the model; the edits so far come back from the journal.
        const pruned = known?.model === sent.model ? known : await open(sent);
        sessions.set(sessionId, pruned);
        await decide(pruned, sent);
        const edited = withEdits(messages, pruned.session);
        if (edited !== messages) messages.splice(0, messages.length, ...edited);
      },
    },
  };

  async function decide(pruned: PrunedSession, { sessionId, messages, model }: Sent): Promise<void> {
    const { session } = pruned;
    const idleMs = context.now() - pruned.lastSentAtMs;
    pruned.lastSentAtMs = context.now();
    const transcript = opencode.decode(messages);
    pruned.pins.splice(0, pruned.pins.length, ...pins.pinsOf(transcript));
    session.observe(transcript);
    if (session.status().estimate.tokens < windows.thresholds(model).pruneAtTokens) return;
    const before = session.status().batches.length;
    await session.prepare({ moment: "after-turn", idleMs });
    if (session.status().batches.length === before) return;
    const after = opencode.decode(withEdits(messages, session));
    const missing = missingPins(pruned.pins, { before: transcript, after });
    if (missing.length > 0) {
      await session.undo();
      context.record(sessionId, { type: "pins-kept", pins: missing });
      context.notify.log("warn", "an edit was taken back, since it hid something pinned", { missing });
      return;
    }
    const [step] = session.ledger().slice(-1);
    if (step !== undefined) context.notify.log("info", `${step.step}: ${step.reason}`, { ...step });
  }
}

export interface PruneWindowSetup {
  readonly context: PluginContext;
  readonly pins: PinnedTexts;
  readonly windows: ModelWindows;
  readonly isChild: (sessionId: string) => Promise<boolean>;
}

interface PrunedSession {
  readonly session: Session;
  readonly model: string;
  /** What must not be hidden, as of the newest request. */
  readonly pins: Pin[];
  lastSentAtMs: number;
}

interface Sent {
  readonly sessionId: string;
  readonly messages: readonly SessionMessage[];
  readonly model: string;
}

/** The list with every batch of edits in force, each at its own time; the very same list when there is none. */
function withEdits(messages: readonly SessionMessage[], session: Session): readonly SessionMessage[] {
  let edited = messages;
  for (const { edits, at } of session.status().batches) edited = opencode.apply(edited, edits, { at });
  return edited;
}

/** The model that the newest turn asks, as the options name it. */
function modelOf(messages: readonly SessionMessage[]): string {
  const info = messages.findLast(({ info: { role } }) => role === "user")?.info;
  const model = fields(info?.model);
  return `${stringField(model.providerID)}/${stringField(model.modelID)}`;
}
