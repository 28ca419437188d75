export {
  type AgentStage,
  type AgentUnderTest,
  agentHostContract,
  type ScriptedReply,
  type StagedAgent,
} from "./testing/contracts/agent-host-contract.ts";
export { journalContract } from "./testing/contracts/journal-contract.ts";
export { recordStoreContract } from "./testing/contracts/record-store-contract.ts";
export { spillStoreContract } from "./testing/contracts/spill-store-contract.ts";
export type { DriverUnderTest, StorePlace, TestRunner } from "./testing/contracts/test-runner.ts";
export { deepFreeze, type FormatContract, type FormatLaw, formatLaws } from "./testing/format-contract.ts";
