import assert from "node:assert/strict";

/** The two functions of a test library that a contract needs; those of vitest, bun:test and node:test all fit. */
export interface TestRunner {
  readonly describe: (name: string, define: () => void) => void;
  readonly it: (name: string, run: () => Promise<void>) => void;
}

/** What a driver gives to be tested: its name, and a new empty place for every test. */
export interface DriverUnderTest<Store> {
  readonly name: string;
  readonly createPlace: () => Promise<StorePlace<Store>>;
}

/** Somewhere to store; every `open` gives a store on the same content, as a second process would have it. */
export interface StorePlace<Store> {
  readonly open: () => Store;
  /** Makes the place unreadable for stores that are opened from now on, where a driver's place can be. */
  readonly makeUnavailable?: () => Promise<void>;
}

/** What is told of a place that cannot be read must be a failure with a code, never that there is nothing. */
export async function assertNeverMissing<Store>(
  driver: DriverUnderTest<Store>,
  { fill, ask }: UnavailableCalls<Store>,
): Promise<void> {
  const place = await driver.createPlace();
  await fill(place.open());
  if (place.makeUnavailable === undefined) return;
  await place.makeUnavailable();
  for (const outcome of await Promise.all(ask(place.open()))) {
    assert.ok(typeof outcome === "object" && outcome !== null, `told as ${JSON.stringify(outcome)}`);
    const { status, code, reason } = outcome as Readonly<Record<string, unknown>>;
    assert.deepEqual([status, typeof code, typeof reason], ["failed", "string", "string"]);
  }
}

export const UNAVAILABLE = "fails with a code where its place cannot be read: unavailable is not missing";

interface UnavailableCalls<Store> {
  readonly fill: (store: Store) => Promise<unknown>;
  readonly ask: (store: Store) => readonly Promise<unknown>[];
}
