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
}
