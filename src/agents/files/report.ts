import { basename } from "node:path";
import { cacheMissLine, costRows, mostExpensive, priceSources } from "../../cost/describe-cost.ts";
import { describeMiss, explainCost, type SessionCost } from "../../cost/explain-cost.ts";
import { readRequests } from "../../cost/read-requests.ts";
import { editsInForce } from "../../plugin/stores/edits-in-force.ts";
import { pluginFolders } from "../../plugin/stores/folders.ts";
import { type PluginEntry, pluginJournal } from "../../plugin/stores/journal.ts";
import { openPluginStores } from "../../plugin/stores/open-stores.ts";
import { isDatabase } from "../../plugin/stores/plugin-stores.ts";
import { readForks } from "../../plugin/stores/recorded-forks.ts";
import { measureWindow } from "../../session/recorded-measure.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { formatBytes, formatNumber, formatUSD, plural } from "../../text/format-number.ts";
import { CHARS_PER_TOKEN, estimateTokens } from "../../text/tokens/estimate-tokens.ts";
import { asNumber, asString } from "../../text/unknown-value.ts";
import { toolResults } from "../../transcript/content.ts";
import type { Transcript } from "../../transcript/message.ts";
import { forkReport } from "../fork-lines.ts";
import { readHookOptions } from "../options-file.ts";
import type { AgentPlace } from "../places.ts";
import type { FileAgent } from "./file-agent.ts";
import { createFileHost } from "./file-host.ts";
import { readLines } from "./session-lines.ts";

/** What a person reads about a session: what fills its window and what we did to it, its forks, or what its requests used. */
export async function reportOf(agent: FileAgent, question: ReportQuestion): Promise<string> {
  const { what, sessionId, env } = question;
  if (what === "forks")
    return forkReport(await readForks(pluginFolders({ store: undefined, env })), sessionId);
  const file = await agent.findSession(sessionId || undefined, question);
  if (file === undefined) return "There is no file of this session yet.";
  const lines = await readLines(file);
  const host = createFileHost(agent, { ...question, log: () => {} });
  const transcript = host.format.decode((agent.sentLines?.(lines) ?? lines) as typeof lines);
  const entries = await readEntries(sessionId || idOf(file), env);
  return (
    what === "cost"
      ? costLines(explainCost(readRequests({ format: agent.name, wire: lines, transcript })), entries)
      : contextLines(transcript, entries)
  ).join("\n");
}

/** What we did to a session in one line, for an agent that shows one of its user's; by our own notes alone, since it is asked often. */
export async function statusOf(
  sessionId: string,
  env: AgentPlace["env"],
  now: readonly string[] = [],
): Promise<string> {
  const entries = await readEntries(sessionId, env);
  const trimmed = entries.filter((entry) => entry.type === "tool-output");
  const helped = entries.filter((entry) => entry.type === "other" && entry.name === "restored");
  const edits = editsInForce(entries);
  const pruned = edits.filter(({ type }) => type === "batch").length;
  const compacted = edits.length - pruned;
  const facts = [
    ...(trimmed.length > 0
      ? [`${plural(trimmed.length, "output")} trimmed (${formatBytes(trimmedBytes(trimmed))})`]
      : []),
    ...(pruned > 0 ? [`pruned ${plural(pruned, "time")}`] : []),
    ...(compacted > 0 ? [plural(compacted, "compaction")] : []),
    ...(helped.length > 0 ? [`restored after ${plural(helped.length, "compaction")}`] : []),
    ...now,
  ];
  return facts.length > 0 ? `carryover: ${facts.join(" · ")}` : NOTHING_DONE;
}

export const NOTHING_DONE = "carryover: nothing to do yet";

interface ReportQuestion extends AgentPlace {
  readonly what: string;
  /** Empty for the newest of the folder. */
  readonly sessionId: string;
}

/** The id at the end of a file's name. */
function idOf(file: string): string {
  return /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/.exec(basename(file))?.[1] ?? "unknown";
}

async function placeOf(env: AgentPlace["env"]) {
  const { store } = (await readHookOptions(env)).options;
  const folders = pluginFolders({ store: store !== undefined && isDatabase(store) ? undefined : store, env });
  return { store, folders };
}

async function readEntries(sessionId: string, env: AgentPlace["env"]): Promise<readonly PluginEntry[]> {
  const stores = openPluginStores({ ...(await placeOf(env)), now: Date.now, usedBy: "command" });
  const { entries } = pluginJournal(await stores.journal(sessionId).read());
  await stores.close();
  return entries;
}

function contextLines(transcript: Transcript, entries: readonly PluginEntry[]): readonly string[] {
  const window = filterCompacted(transcript);
  const results = toolResults(window);
  const largest = results
    .map(({ part, text }) => ({ tool: part.tool, chars: text.length, tokens: estimateTokens(text) }))
    .sort((one, other) => other.tokens - one.tokens)
    .slice(0, SHOWN);
  const { tokens, source } = measureWindow(transcript);
  const said = source === "usage" ? "by the provider's count" : "estimated";
  return [
    row(
      "window",
      `${formatNumber(tokens)} tokens (${said}), ${plural(window.length, "message")}, ${plural(results.length, "tool result")}`,
    ),
    ...largest.map(({ tool, tokens, chars }) =>
      row("", `${tool}: ${formatNumber(tokens)} tokens, ${formatNumber(chars)} characters`),
    ),
    ...trimmedLines(entries),
    ...editsInForce(entries)
      .slice(-SHOWN)
      .map(({ type, edits, savedTokens }) =>
        type === "batch"
          ? row(
              "pruned",
              `${plural(edits, "output")}: ${formatNumber(savedTokens)} tokens, read again by recall`,
            )
          : row(
              "compacted",
              `${plural(edits, "message")}: ${formatNumber(savedTokens)} tokens, read again by recall`,
            ),
      ),
    ...compactionLines(entries),
  ];
}

/** How many outputs are listed. */
const SHOWN = 5;

function trimmedLines(entries: readonly PluginEntry[]): readonly string[] {
  const trimmed = entries.filter((entry) => entry.type === "tool-output");
  if (trimmed.length === 0) return [row("trimmed", "no output was too long yet")];
  const shown = trimmed.reduce((sum, { shownChars }) => sum + shownChars, 0);
  const total = trimmed.reduce((sum, { totalChars }) => sum + totalChars, 0);
  return [
    row(
      "trimmed",
      `${plural(trimmed.length, "output")}: ${formatBytes(shown)} of ${formatBytes(total)} shown, the rest by recall`,
    ),
    ...trimmed
      .slice(-SHOWN)
      .map(({ tool, shownChars, totalChars, handle = "" }) =>
        row(
          "",
          `${tool}: ${formatNumber(shownChars)} of ${formatNumber(totalChars)} characters, recall ${handle.slice(0, 12)}`,
        ),
      ),
    row(
      "left out",
      `${formatBytes(total - shown)}, about ${formatNumber(Math.round((total - shown) / CHARS_PER_TOKEN))} tokens`,
    ),
  ];
}

function compactionLines(entries: readonly PluginEntry[]): readonly string[] {
  const others = entries.filter((entry) => entry.type === "other");
  const backups = others.filter(({ name }) => name === "backup-summary");
  const restored = others.filter(({ name }) => name === "restored");
  if (backups.length + restored.length === 0) return [];
  const chars = restored.reduce((sum, { value }) => sum + (asNumber(value.chars) ?? 0), 0);
  return [
    row("compactions", `${backups.length}; restored after them: ${formatNumber(chars)} characters`),
    ...backups
      .slice(-SHOWN)
      .map(({ value }) => row("", `backup summary: ${asString(value.path) ?? asString(value.handle) ?? ""}`)),
  ];
}

function costLines(cost: SessionCost, entries: readonly PluginEntry[]): readonly string[] {
  const { totals, misses, requests } = cost;
  const models = [...new Set(requests.flatMap(({ model }) => model?.id ?? []))];
  const trimmed = entries.filter((entry) => entry.type === "tool-output");
  const [source] = priceSources(cost);
  return [
    row("requests", `${totals.requests}${models.length > 0 ? ` (${models.join(", ")})` : ""}`),
    row(
      "cost",
      totals.unpriced === totals.requests
        ? "no price is known for this model"
        : `${formatUSD(totals.costUSD)}${source === undefined ? "" : ` (prices: ${source})`}`,
    ),
    ...costRows(cost).map(([name, costUSD, text]) => row("", `${name}: ${text}, ${formatUSD(costUSD)}`)),
    row("cache misses", cacheMissLine(cost)),
    ...mostExpensive(misses, SHOWN).map((each) =>
      row(
        "",
        `request ${each.request + 1}: ${formatNumber(each.missedTokens)} tokens, ${describeMiss(each)}`,
      ),
    ),
    row("trimmed", `${formatBytes(trimmedBytes(trimmed))} of ${plural(trimmed.length, "long output")}`),
  ];
}

function trimmedBytes(trimmed: readonly Extract<PluginEntry, { readonly type: "tool-output" }>[]): number {
  return trimmed.reduce((total, { shownChars, totalChars }) => total + totalChars - shownChars, 0);
}

function row(name: string, text: string): string {
  return `${name.padEnd(12)} ${text}`;
}
