import type { Session } from "../../session/session.ts";
import type { StoredState } from "../../session/stored-state.ts";
import { textOrJson } from "../../text/json.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { asObject } from "../../text/unknown-value.ts";

/**
 * The threads in memory. The state of a thread is kept by a checkpointer, so it may be rewound, copied or loaded in another
 * process. Its version tells: a state with the newest version continues in memory, any other is opened again.
 */
export function createKeptThreads<Opened extends { readonly session: Session }>(): {
  /** The thread of a state, where it is in memory. */
  known(state: unknown): Opened | undefined;
  /** The same, opened where it is not, and a function that gives the state to keep; undefined when nothing has changed. */
  of(state: unknown, open: (restore: unknown) => Opened): [Opened, () => KeptState | undefined];
} {
  const live = createLruMap<string, { readonly opened: Opened; version: number; saved: string }>(MAX_LIVE);

  function entryOf(state: unknown) {
    const { id, version } = asObject(state);
    const entry = live.get(textOrJson(id));
    return entry?.version === version ? entry : undefined;
  }

  return {
    known: (state) => entryOf(state)?.opened,

    of(state, open) {
      const { id: given, version = 0, session: restore } = asObject(state);
      const known = entryOf(state);
      // Where another has this id already, this is one more from here.
      const isFree = typeof given === "string" && (known !== undefined || live.get(given) === undefined);
      const id = isFree ? given : globalThis.crypto.randomUUID();
      const entry = known ?? { opened: open(restore), version: Number(version), saved: "" };
      live.set(id, entry);
      const { session } = entry.opened;
      function keep(): KeptState | undefined {
        const { batches, contextWindowTokens, epoch } = session.status();
        // An epoch also begins where thoughts were refused, which edits nothing.
        const current = [contextWindowTokens, epoch, ...batches.map((batch) => batch.id)].join();
        if (current === entry.saved) return undefined;
        entry.saved = current;
        entry.version++;
        return { id, version: entry.version, session: session.toJSON() };
      }
      return [entry.opened, keep];
    },
  };
}

interface KeptState {
  readonly id: string;
  readonly version: number;
  readonly session: StoredState;
}

/** Threads that are in memory at once. */
const MAX_LIVE = 200;
