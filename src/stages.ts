export { type OmitForChildOptions, omitForChild } from "./fork/context/options.ts";
export {
  type CharBudgetOptions,
  type CompactionBoundaryOptions,
  charBudget,
  compactionBoundary,
} from "./stages/boundary.ts";
export {
  type CacheArithmetic,
  type EditPlan,
  type PlanEditsRequest,
  planEdits,
} from "./stages/cache-plan.ts";
export { type KeepLinesOptions, keepLines } from "./stages/lines/keep-lines.ts";
export { type PruneOptions, type PrunePlan, pruneStage, restore } from "./stages/prune.ts";
export { redactTranscript } from "./stages/redact.ts";
export { type RepairPairingOptions, repairPairing } from "./stages/repair.ts";
export { type SupersedeOptions, supersede } from "./stages/supersede.ts";
export { type GraduatedTiersOptions, graduatedTiers, type Tier, type TierLimits } from "./stages/tiers.ts";
