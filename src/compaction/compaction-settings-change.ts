import { type CompactionSettings, TOOL_SUMMARY_STRATEGIES } from "./compaction-settings.ts";
import type { SettingsProblem } from "./compaction-settings-validate.ts";

/** The settings after one change made at run time, or what is wrong with the change. The input stays as it was. */
export function changeSettings(settings: CompactionSettings, change: SettingsChange): ChangedSettings {
  switch (change.type) {
    case "set-auto":
      if (typeof change.autoCompact !== "boolean") return rejected("autoCompact", "must be true or false");
      return changed({ ...settings, autoCompact: change.autoCompact });
    case "set-cutoff":
      if (!(Number.isSafeInteger(change.toolCallCutoff) && change.toolCallCutoff >= 0)) {
        return rejected("toolCallCutoff", "must be a whole number of 0 or more");
      }
      return changed({ ...settings, toolCallCutoff: change.toolCallCutoff });
    case "set-strategy": {
      const strategy = TOOL_SUMMARY_STRATEGIES.find((known) => known === change.toolSummaryStrategy);
      if (strategy === undefined) {
        return rejected("toolSummaryStrategy", `must be one of ${TOOL_SUMMARY_STRATEGIES.join(", ")}`);
      }
      return changed({ ...settings, toolSummaryStrategy: strategy });
    }
    default:
      change satisfies never;
      return rejected("type", "unknown change");
  }
}

/** What may be changed while a session runs. */
export type SettingsChange =
  | { readonly type: "set-auto"; readonly autoCompact: boolean }
  | { readonly type: "set-cutoff"; readonly toolCallCutoff: number }
  | { readonly type: "set-strategy"; readonly toolSummaryStrategy: string };

export type ChangedSettings =
  | { readonly status: "changed"; readonly settings: CompactionSettings }
  | { readonly status: "rejected"; readonly problem: SettingsProblem };

function changed(settings: CompactionSettings): ChangedSettings {
  return { status: "changed", settings };
}

function rejected(path: string, problem: string): ChangedSettings {
  return { status: "rejected", problem: { path, problem } };
}
