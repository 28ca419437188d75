import { basename } from "node:path";
import { pluginFolders } from "../../plugin/stores/folders.ts";
import { type PluginEntry, pluginJournal } from "../../plugin/stores/journal.ts";
import { openPluginStores } from "../../plugin/stores/open-stores.ts";
import { isDatabase } from "../../plugin/stores/plugin-stores.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { cacheProfileFor } from "../../stages/cache-profiles.ts";
import { formatBytes, plural } from "../../text/display.ts";
import { asNumber, asString } from "../../text/json.ts";
import { estimateTokens } from "../../text/tokens/estimate-tokens.ts";
import { estimateContextTokens } from "../../transcript/estimate-context.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { toolResults } from "../../transcript/tool-results.ts";
import { createFileHost, readLines } from "./file-host.ts";
import type { AgentPlace, HookAgent } from "./hook-agent.ts";
import { readHookOptions } from "./hook-options.ts";

/** What a person reads about a session: what fills its window and what we did to it, or what its requests used. */
export async function reportOf(agent: HookAgent, question: ReportQuestion): Promise<string> {
  const { what, sessionId, env } = question;
  const file = await agent.findSession(sessionId || undefined, question);
  if (file === undefined) return "There is no file of this session yet.";
  const lines = await readLines(file);
  const host = createFileHost(agent, { ...question, log: () => {} });
  const transcript = host.format.decode(lines);
  const entries = await readEntries(sessionId || idOf(file), env);
  return (what === "cost" ? costLines(transcript, entries) : contextLines(transcript, entries)).join("\n");
}

export interface ReportQuestion extends AgentPlace {
  readonly what: string;
  /** Empty for the newest of the folder. */
  readonly sessionId: string;
}

/** The id at the end of a file's name. */
function idOf(file: string): string {
  return /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/.exec(basename(file))?.[1] ?? "unknown";
}

async function readEntries(sessionId: string, env: AgentPlace["env"]): Promise<readonly PluginEntry[]> {
  const { store } = (await readHookOptions(env)).options;
  const folders = pluginFolders({ store: store !== undefined && isDatabase(store) ? undefined : store, env });
  const stores = openPluginStores({ store, folders, now: Date.now, usedBy: "command" });
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
  const { tokens, source } = estimateContextTokens(window, {});
  const said = source === "usage" ? "by the provider's count" : "estimated";
  return [
    row(
      "window",
      `${number(tokens)} tokens (${said}), ${plural(window.length, "message")}, ${plural(results.length, "tool result")}`,
    ),
    ...largest.map(({ tool, tokens, chars }) =>
      row("", `${tool}: ${number(tokens)} tokens, ${number(chars)} characters`),
    ),
    ...boundedLines(entries),
    ...compactionLines(entries),
  ];
}

/** How many outputs are listed. */
const SHOWN = 5;

function boundedLines(entries: readonly PluginEntry[]): readonly string[] {
  const bounded = entries.filter((entry) => entry.type === "tool-output");
  if (bounded.length === 0) return [row("bounded", "no output was too long yet")];
  const shown = bounded.reduce((sum, { shownChars }) => sum + shownChars, 0);
  const total = bounded.reduce((sum, { totalChars }) => sum + totalChars, 0);
  return [
    row(
      "bounded",
      `${plural(bounded.length, "output")}: ${formatBytes(shown)} of ${formatBytes(total)} shown, the rest by recall`,
    ),
    ...bounded
      .slice(-SHOWN)
      .map(({ tool, shownChars, totalChars, handle = "" }) =>
        row(
          "",
          `${tool}: ${number(shownChars)} of ${number(totalChars)} characters, recall ${handle.slice(0, 12)}`,
        ),
      ),
  ];
}

function compactionLines(entries: readonly PluginEntry[]): readonly string[] {
  const others = entries.filter((entry) => entry.type === "other");
  const shadows = others.filter(({ name }) => name === "shadow");
  const putBack = others.filter(({ name }) => name === "put-back");
  if (shadows.length + putBack.length === 0) return [];
  const chars = putBack.reduce((sum, { value }) => sum + (asNumber(value.chars) ?? 0), 0);
  return [
    row("compactions", `${shadows.length}; put back after them: ${number(chars)} characters`),
    ...shadows
      .slice(-SHOWN)
      .map(({ value }) => row("", `shadow: ${asString(value.path) ?? asString(value.handle) ?? ""}`)),
  ];
}

function costLines(transcript: Transcript, entries: readonly PluginEntry[]): readonly string[] {
  const answers = transcript.filter(({ usage }) => usage !== undefined);
  const sum = (read: (message: Message) => number | undefined): number =>
    answers.reduce((total, message) => total + (read(message) ?? 0), 0);
  const input = sum(({ usage }) => usage?.inputTokens);
  const read = sum(({ usage }) => usage?.cacheReadTokens);
  const written = sum(({ usage }) => usage?.cacheWriteTokens);
  const model = transcript.findLast((message) => message.model !== undefined)?.model;
  const profile = model && cacheProfileFor(model);
  const weighted = profile && input + read * profile.readMultiplier + written * profile.writeMultiplier;
  const bounded = entries.filter((entry) => entry.type === "tool-output");
  const saved = bounded.reduce((total, { shownChars, totalChars }) => total + totalChars - shownChars, 0);
  return [
    row("requests", `${answers.length}${model ? ` (${model.id})` : ""}`),
    row(
      "input",
      `${number(input)} tokens not cached, ${number(read)} from the cache, ${number(written)} written to it`,
    ),
    row("output", `${number(sum(({ usage }) => usage?.outputTokens))} tokens`),
    ...(weighted === undefined
      ? []
      : [
          row(
            "priced as",
            `${number(Math.round(weighted))} ordinary input tokens, by the provider's cache prices`,
          ),
        ]),
    row("kept out", `${formatBytes(saved)} of ${plural(bounded.length, "long output")}`),
  ];
}

function row(name: string, text: string): string {
  return `${name.padEnd(12)} ${text}`;
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}
