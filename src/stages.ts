export { type OmitForChildOptions, omitForChild } from "./fork/context/omit-for-child.ts";
export {
  type CharBudgetOptions,
  type CompactionBoundaryOptions,
  charBudget,
  compactionBoundary,
  type GraduatedTiersOptions,
  graduatedTiers,
  type KeepLinesOptions,
  keepLines,
  type RepairPairingOptions,
  repairPairing,
  supersede,
} from "./stages/doors/stages.ts";
export { type PruneOptions, type PrunePlan, pruneStage } from "./stages/prune.ts";
export { redactTranscript } from "./stages/redact.ts";
export { restore } from "./stages/restore.ts";
export type { Tier, TierLimits } from "./stages/tiers.ts";
