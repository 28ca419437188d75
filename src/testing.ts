export { journalContract } from "./testing/contracts/journal-contract.ts";
export { recordStoreContract } from "./testing/contracts/record-store-contract.ts";
export { spillStoreContract } from "./testing/contracts/spill-store-contract.ts";
export {
  createFakeClock,
  createFakeSummarizer,
  type FakeAnswer,
  type FakeClock,
  type FakeSummarizer,
} from "./testing/fakes.ts";
export { type FormatContract, type FormatLaw, formatLaws } from "./testing/format-contract.ts";
export { deepFreeze, notate, transcript } from "./testing/notation.ts";
