export { deepFreeze } from "./testing/deep-freeze.ts";
export { type FormatContract, type FormatLaw, formatLaws } from "./testing/format-contract.ts";
export { notate, transcript } from "./testing/notation.ts";
