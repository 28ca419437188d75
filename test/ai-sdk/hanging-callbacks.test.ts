import { expect, it } from "vitest";
import type { CarryoverOptions } from "../../src/ai-sdk.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import { runPersistedLoop } from "./harness/persisted-loop.ts";

const SIZE = { steps: 40, leastBytes: 2_000, mostBytes: 60_000 };
const hang = (): Promise<never> => new Promise(() => {});

const HANGING_JOURNAL = { append: hang, read: async () => ({ entries: [], problems: [] }) };

/** On the real clock, with default options: what a user of the middleware waits for in all. */
it.each<[string, Omit<CarryoverOptions, "onEvent">, number]>([
  ["onCompact", { onCompact: hang }, 2_000],
  ["onUsage", { onUsage: hang as never }, 0],
  ["persist.append", { persist: { load: () => [], append: hang } }, 2_000],
  ["persist.load", { persist: { load: hang, append: hang } }, 2_000],
  ["store.journal", { persist: undefined as never, store: { journal: HANGING_JOURNAL } }, 2_000],
])(
  "%s that hangs for ever, beside an onEvent that does too, holds up one request of forty, once",
  async (name, options, limitMs) => {
    // Summaries tell their usage.
    const shared: CarryoverOptions = name === "onUsage" ? { prune: "off" } : {};
    const startedAt = performance.now();
    const { sent } = await runPersistedLoop(SIZE, shared);
    const undisturbedMs = performance.now() - startedAt;
    const events: SessionEvent[] = [];
    const onEvent = (event: SessionEvent): Promise<never> => {
      events.push(event);
      return hang();
    };
    const hungAt = performance.now();
    const hung = await runPersistedLoop(SIZE, { ...shared, ...options, onEvent });
    const extraMs = performance.now() - hungAt - undisturbedMs;
    expect(extraMs).toBeLessThan(limitMs + 2_000);
    expect(hung.sent).toEqual(sent);
    expect(hung.session.status().batches.length).toBeGreaterThan(0);
    const warned = events.flatMap((event) =>
      event.type === "warning" && event.code.startsWith("not-") ? event.code : [],
    );
    expect(warned).toHaveLength(limitMs === 0 ? 0 : 1);
  },
);
