export {
  HOST_SCENARIOS,
  HOST_SUMMARY,
  type HostResult,
  type HostResults,
  type HostScenario,
  type HostStage,
  type HostUnderTest,
  hostContract,
  type ScriptedReply,
  type StagedHost,
} from "./testing/contracts/host-contract.ts";
export {
  journalContract,
  outputStoreContract,
  recordStoreContract,
} from "./testing/contracts/store-contracts.ts";
export type { DriverUnderTest, StorePlace, TestRunner } from "./testing/contracts/test-runner.ts";
export { deepFreeze, type FormatContract, type FormatLaw, formatLaws } from "./testing/format-contract.ts";
export type { ConversationCall, ConversationStep } from "./testing/random-conversation.ts";
