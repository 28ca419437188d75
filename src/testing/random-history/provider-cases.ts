import { anthropic } from "../../formats/anthropic/anthropic.ts";
import { findAnthropicEditFaults } from "../../formats/anthropic/find-anthropic-edit-faults.ts";
import type { EditExpectation } from "../../formats/wire-faults/find-common-edit-faults.ts";
import type { Fault } from "../../transcript/find-faults.ts";
import type { Format } from "../../transcript/format.ts";
import type { History } from "./history.ts";
import { lowerToAnthropic } from "./lower-to-anthropic.ts";

/** One provider's interface: how a history is written for it, how its wires are edited, and what an edit must keep. */
export interface ProviderCase {
  readonly api: string;
  readonly format: Format<unknown>;
  readonly lower: (history: History) => unknown;
  readonly findEditFaults: (before: unknown, after: unknown, expected?: EditExpectation) => readonly Fault[];
}

/** All interfaces that have rules. */
export const PROVIDER_CASES: readonly ProviderCase[] = [
  {
    api: "anthropic",
    format: anthropic as Format<unknown>,
    lower: lowerToAnthropic,
    findEditFaults: findAnthropicEditFaults,
  },
];
