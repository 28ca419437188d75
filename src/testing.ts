export { journalContract } from "./testing/contracts/journal-contract.ts";
export { recordStoreContract } from "./testing/contracts/record-store-contract.ts";
export { spillStoreContract } from "./testing/contracts/spill-store-contract.ts";
export { deepFreeze } from "./testing/deep-freeze.ts";
export { createFakeClock, type FakeClock } from "./testing/fake-clock.ts";
export { createFakeSummarizer, type FakeAnswer, type FakeSummarizer } from "./testing/fake-summarizer.ts";
export { type FormatContract, type FormatLaw, formatLaws } from "./testing/format-contract.ts";
export { notate, transcript } from "./testing/notation.ts";
