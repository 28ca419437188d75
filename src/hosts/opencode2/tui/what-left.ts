import { batchesInForce } from "../../../plugin/stores/edits-in-force.ts";
import type { PluginEntry } from "../../../plugin/stores/journal.ts";
import { editCount } from "../../../session/stored-state.ts";
import { CHARS_PER_TOKEN } from "../../../text/tokens/estimate-tokens.ts";

/** What left a session's window, or never entered it, and why; the largest first. */
export function whatLeft(entries: readonly PluginEntry[]): readonly LeftContent[] {
  const groups = new Map<string, LeftContent>();
  const add = ({ why, count, tokens, isStored }: LeftContent): void => {
    const known = groups.get(why);
    groups.set(why, {
      why,
      count: count + (known?.count ?? 0),
      tokens: tokens + (known?.tokens ?? 0),
      isStored,
    });
  };
  for (const entry of entries)
    if (entry.type === "tool-output") {
      const tokens = Math.round(Math.max(0, entry.totalChars - entry.shownChars) / CHARS_PER_TOKEN);
      add({ why: "long outputs, cut as they came", count: 1, tokens, isStored: false });
    }
  for (const { batch } of batchesInForce(entries)) {
    const tokens = Math.max(0, batch.tokensBefore - batch.tokensAfter);
    const why = `${STEPS[batch.step] ?? batch.step}, ${REASONS[batch.reason] ?? batch.reason}`;
    add({ why, count: editCount(batch), tokens, isStored: true });
  }
  return [...groups.values()].toSorted((one, other) => other.tokens - one.tokens);
}

/** Content that is not sent to the model, for one reason. */
export interface LeftContent {
  readonly why: string;
  /** How many pieces. */
  readonly count: number;
  readonly tokens: number;
  /** True where OpenCode has stored it, and only requests are without it. */
  readonly isStored: boolean;
}

/** The engine's words for what it did, and for why it did it, as people say it. */
const STEPS: Readonly<Record<string, string>> = {
  prune: "old outputs, pruned",
  compact: "old messages, compacted",
  "summarize-tool-results": "old outputs, summed up",
  recover: "taken out after a refusal",
};
const REASONS: Readonly<Record<string, string>> = {
  "over-limit": "since the window was nearly full",
  pays: "since that is cheaper",
};
