import type { Pin } from "../../compaction/summary/pins.ts";
import { overflowOfEnvironment } from "../../compaction/trigger/overflow.ts";
import { isFolded } from "../../session/fold.ts";
import type { EditBatch } from "../../session/history.ts";
import { withEngineSettings } from "../../session/options.ts";
import { createSession, type Session, type UndoResult } from "../../session/session.ts";
import { createSystemClock } from "../../stores/system-clock.ts";
import { deepEqual } from "../../text/deep-equal.ts";
import { createLruMap } from "../../text/lru-map.ts";
import type { Message, ModelRef, Transcript } from "../../transcript/message.ts";
import type { Feature, PluginContext } from "../context/context.ts";
import type { HostFormat, HostMessage, OutgoingRequest } from "../host/agent-host.ts";
import { createEngineJournal } from "../stores/engine-journal.ts";
import { type ModelWindows, nameOf } from "./model-windows.ts";
import { missingPins, type PinnedTexts } from "./pins.ts";

/** Pruning as a feature of the plugin, and the way to take a batch back from outside. */
export interface PruneWindow {
  readonly feature: Feature;
  /** True for a session that this instance sends requests of. */
  isOpen(sessionId: string): boolean;
  /** Undefined for a session that is not open. */
  undo(sessionId: string): Promise<UndoResult | undefined>;
  /** When the newest batch was made that is in force. */
  newestAtMs(sessionId: string): Promise<number | undefined>;
}

/**
 * Shortens old outputs in what is sent to the lines most likely needed, in batches: when that saves more than it costs to
 * break the provider's cached prefix, or when the agent would compact next.
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
  const newestAtMs = async (sessionId: string): Promise<number | undefined> =>
    (await sessions.get(sessionId)?.pruned)?.newestAtMs();
  const name = "pruning";
  if (options.prune === "off" || options.profile === "documented")
    return { feature: { name }, isOpen, undo, newestAtMs };

  /** Opened anew for another model, and once more when its window is known: both decide what is cleared. */
  function sessionFor({ sessionId, messages, model }: OutgoingRequest): Promise<PrunedSession> {
    const modelName = nameOf(model);
    const key = `${modelName} ${windows.windowOf(modelName)?.limits.contextTokens ?? "unknown"}`;
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
    newestAtMs,
    feature: {
      name,
      // The request for a summary is made next: it is to see everything.
      async beforeCompaction({ sessionId }) {
        compacting.set(sessionId, true);
        return undefined;
      },
      // A user who speaks now does not wait for a summary: one that was announced has failed before its request.
      async onUserMessage({ sessionId }) {
        compacting.delete(sessionId);
        return undefined;
      },
      async onSignal(signal) {
        if (signal.type === "deleted") sessions.delete(signal.sessionId);
        if (signal.type === "compacted") compacting.delete(signal.sessionId);
      },
      async beforeRequest(request) {
        const { sessionId, messages, lastAnswerAtMs } = request;
        if (compacting.get(sessionId)) {
          compacting.delete(sessionId);
          return undefined;
        }
        // A child's request begins with its parent's cached one: any edit there would cost more than it saves.
        if (await isChild(sessionId)) return undefined;
        const idleMs = lastAnswerAtMs === undefined ? 0 : Math.max(0, context.now() - lastAnswerAtMs);
        const edited = await (await sessionFor(request)).edit(messages, idleMs);
        return edited === messages ? undefined : edited;
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

/** One conversation whose old outputs are cleared in what is sent. */
interface PrunedSession {
  /** Decides whether more is cleared, and gives the list to send; the very same list when nothing is. */
  edit(messages: readonly HostMessage[], idleMs: number): Promise<readonly HostMessage[]>;
  /** Takes the newest batch back: it is sent again from the next request on. */
  undo(): Promise<UndoResult>;
  newestAtMs(): number | undefined;
}

interface PrunedSessionSetup extends PruneWindowSetup {
  readonly sessionId: string;
  readonly model: ModelRef;
}

/** Opens a conversation with the edits of its journal in force. */
async function openPrunedSession(
  setup: PrunedSessionSetup,
  messages: readonly HostMessage[],
): Promise<PrunedSession> {
  const { context, pins, windows, sessionId, model } = setup;
  const { format } = context.host;
  // The engine reads it at every decision: what is pinned grows with the conversation.
  const pinned: Pin[] = [];
  const session = createEngine(setup, pinned);
  const decode = createDecoder(format);
  const opened = decode(messages);
  await session.restore(opened);
  pinned.push(...pins.pinsOf(opened));
  await keepPins(messages, opened);

  /** The list with every edit in force, made in one go: an edit counts the parts that an earlier batch has hidden. */
  function withEdits(sent: readonly HostMessage[]): readonly HostMessage[] {
    const { batches } = session.status();
    const [first] = batches;
    if (first === undefined) return sent;
    const edits = batches.flatMap((batch) => batch.edits);
    return format.apply(sent, edits, { at: first.at });
  }

  /** Takes batches back, newest first, until the model sees everything pinned that it saw without them. */
  async function keepPins(sent: readonly HostMessage[], before: Transcript): Promise<void> {
    const hidden = (): readonly Pin[] =>
      missingPins(pinned, { before, after: format.decode(withEdits(sent)) });
    if (session.status().batches.length === 0) return;
    const missing = hidden();
    const undoneIds: string[] = [];
    for (let left = missing; left.length > 0; left = hidden()) {
      const undone = await session.undo();
      if (undone.status !== "undone") break;
      undoneIds.push(undone.batch.id);
    }
    if (undoneIds.length === 0) return;
    context.record(sessionId, { type: "pins-kept", pins: missing, batches: undoneIds });
    context.notify.log("warn", "edits were taken back, since they hid something pinned", { missing });
  }

  function showPruned(made: readonly EditBatch[]): void {
    for (const { id, edits } of made) {
      const text = `${edits.length} old ${edits.length === 1 ? "output" : "outputs"}; recall brings them back`;
      context.show({ type: "line", sessionId, key: `pruned ${id}`, label: "pruned", text });
    }
  }

  return {
    async edit(sent, idleMs) {
      const transcript = decode(sent);
      pinned.splice(0, pinned.length, ...pins.pinsOf(transcript));
      session.observe(transcript);
      const { estimate, batches, contextWindowTokens } = session.status();
      windows.raise(nameOf(model), contextWindowTokens);
      if (estimate.tokens >= windows.thresholds(nameOf(model)).pruneAtTokens) {
        await session.prepare({ moment: "after-turn", idleMs });
        const made = batchesSince(session.status().batches, batches.at(-1)?.id);
        if (made.length > 0) {
          await keepPins(sent, transcript);
          const step = session.ledger().at(-1);
          if (step !== undefined) context.notify.log("info", `${step.step}: ${step.reason}`, { ...step });
          showPruned(batchesSince(session.status().batches, batches.at(-1)?.id));
        }
      }
      return withEdits(sent);
    },
    undo: () => session.undo(),
    newestAtMs: () => session.status().batches.findLast((batch) => !isFolded(batch))?.at,
  };
}

/** Decodes one conversation that is sent again and again: a message that says the same as last time is the same object. */
export function createDecoder({ decode }: Pick<HostFormat, "decode">): HostFormat["decode"] {
  let known: ReadonlyMap<string, Message> = new Map();
  return (messages) => {
    const transcript = decode(messages).map((message) => {
      const before = known.get(message.id);
      return before !== undefined && deepEqual(before, message) ? before : message;
    });
    known = new Map(transcript.map((message) => [message.id, message]));
    return transcript;
  };
}

/** The batches behind the one that was the newest; older ones may have become one meanwhile. */
function batchesSince(batches: readonly EditBatch[], newestId: string | undefined): readonly EditBatch[] {
  return batches.slice(batches.findLastIndex(({ id }) => id === newestId) + 1);
}

function createEngine(
  { context, windows, sessionId, model }: PrunedSessionSetup,
  pins: readonly Pin[],
): Session {
  const { keepTokens } = windows.thresholds(nameOf(model));
  const window = windows.windowOf(nameOf(model));
  return createSession(
    {
      clock: createSystemClock(),
      journal: createEngineJournal({
        journal: async () => context.journal(await context.tree.rootOf(sessionId)),
        sessionId,
        now: context.now,
      }),
    },
    withEngineSettings(
      {
        // The host says more about a model than a session takes.
        model: { provider: model.provider, id: model.id },
        pins,
        toolOutput: "off",
        compactAt: "never",
        // What nobody named the session knows itself, and learns.
        ...(window?.isNamed && { limits: window.limits }),
      },
      {
        prune: { how: "lines", ...(keepTokens !== undefined && { protectTokens: keepTokens }) },
        overflow: overflowOfEnvironment(context.env),
        ...(window && { cache: window.cache }),
      },
    ),
  );
}
