import type { EvalPolicy } from "../eval-policy.ts";
import { fill } from "./fill.ts";
import { fixed } from "./fixed.ts";
import { fold } from "./fold.ts";
import { hybrid50 } from "./hybrid-50.ts";
import { lastN } from "./last-n.ts";
import { mask10 } from "./mask-10.ts";
import { pruneProtect } from "./prune-protect.ts";
import { uniform1500 } from "./uniform-1500.ts";

/** The policies that come with the measure, baselines first. */
export const BUILT_IN_POLICIES: readonly EvalPolicy[] = [
  lastN,
  uniform1500,
  mask10,
  pruneProtect,
  hybrid50,
  fixed,
  fill,
  fold,
];
