import type { Pin } from "../../../compaction/pins.ts";
import { fields, numberField } from "../../../formats/fields.ts";
import { opencode } from "../../../formats/opencode/opencode.ts";
import type { SessionMessage } from "../../../formats/opencode/session-message.ts";
import { createSession, type Session, type UndoResult } from "../../../session/create-session.ts";
import { targetsOf } from "../../../session/edit-batch.ts";
import { createSystemClock } from "../../../stores/system-clock.ts";
import type { Transcript } from "../../../transcript/message.ts";
import type { PluginContext } from "../plugin-context.ts";
import { createEngineJournal } from "./engine-journal.ts";
import type { ModelWindows } from "./model-windows.ts";
import { missingPins, type PinnedTexts } from "./pinned-texts.ts";
import { createRepeatedDecode } from "./repeated-decode.ts";

/** One conversation whose old outputs are cleared in what is sent. */
export interface PrunedSession {
  /** Decides whether more is cleared, and gives the list to send; the very same list when nothing is. */
  edit(messages: readonly SessionMessage[]): Promise<readonly SessionMessage[]>;
  /** Takes the newest batch back: it is sent again from the next request on. */
  undo(): Promise<UndoResult>;
}

export interface PrunedSessionSetup {
  readonly context: PluginContext;
  readonly pins: PinnedTexts;
  readonly windows: ModelWindows;
  readonly sessionId: string;
  readonly model: ModelName;
}

/** The model that a request goes to. */
export interface ModelName {
  readonly provider: string;
  readonly id: string;
}

/** Opens a conversation, with the edits that its journal tells of in force. */
export async function openPrunedSession(
  setup: PrunedSessionSetup,
  messages: readonly SessionMessage[],
): Promise<PrunedSession> {
  const { context, pins, windows, sessionId, model } = setup;
  const name = `${model.provider}/${model.id}`;
  // The engine reads it at every decision: what is pinned grows with the conversation.
  const pinned: Pin[] = [];
  const session = createEngine(setup, pinned);
  const decode = createRepeatedDecode();
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
  const endedAtMs = numberField(fields(answer?.info.time).completed);
  return endedAtMs === undefined ? 0 : Math.max(0, nowMs - endedAtMs);
}

function isDone(info: SessionMessage["info"]): boolean {
  return numberField(fields(info.time).completed) !== undefined;
}
