import { groupBy } from "../../text/group-by.ts";
import type { SecretCount } from "./profile-secrets.ts";
import type { LargeItem, ToolProfile } from "./profile-session.ts";
import type { FileStats } from "./stats-file.ts";

/** What a folder of sessions holds, and which of them stand out. */
export interface FolderStats {
  readonly files: { readonly total: number; readonly read: number; readonly skipped: number };
  readonly totals: Totals;
  readonly byFormat: readonly (Totals & { readonly format: string })[];
  /** By what is measured: the value that so many of 100 sessions do not exceed. */
  readonly percentiles: Readonly<Record<Measure, Percentiles>>;
  readonly byTool: readonly ToolProfile[];
  readonly secrets: readonly SecretCount[];
  readonly worst: Worst;
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}

export interface Totals {
  readonly sessions: number;
  readonly messages: number;
  readonly toolResults: number;
  readonly chars: number;
  readonly tokens: number;
  readonly compactions: number;
}

export const MEASURES = ["messages", "toolResults", "chars", "tokens", "windowTokens"] as const;
export type Measure = (typeof MEASURES)[number];

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export interface Worst {
  readonly largestWindows: readonly { readonly path: string; readonly tokens: number }[];
  readonly largestItems: readonly (LargeItem & { readonly file: string })[];
  readonly needless: readonly { readonly path: string; readonly results: number; readonly chars: number }[];
  readonly secrets: readonly { readonly path: string; readonly count: number }[];
}

/** Sums up what was measured file by file. */
export function folderStats(outcomes: readonly FileStats[], { top }: { readonly top: number }): FolderStats {
  const read = outcomes.filter((outcome) => outcome.status === "read");
  const skipped = outcomes.filter((outcome) => outcome.status === "skipped");
  const formats = groupBy(read, ({ format }) => format);
  return {
    files: { total: outcomes.length, read: read.length, skipped: skipped.length },
    totals: totals(read),
    byFormat: Array.from(formats, ([format, files]) => ({ format, ...totals(files) })).sort(
      (a, b) => b.tokens - a.tokens,
    ),
    percentiles: {
      messages: percentiles(read.map(({ messages }) => messages)),
      toolResults: percentiles(read.map(({ toolResults }) => toolResults)),
      chars: percentiles(read.map(({ chars }) => chars)),
      tokens: percentiles(read.map(({ tokens }) => tokens)),
      windowTokens: percentiles(read.map(({ window }) => window.tokens)),
    },
    byTool: sumTools(read.flatMap(({ byTool }) => byTool)).slice(0, top),
    secrets: sumSecrets(read.flatMap(({ secrets }) => secrets)),
    worst: worstOf(read, top),
    skipped: skipped.map(({ path, reason }) => ({ path, reason })),
  };
}

type ReadFile = Extract<FileStats, { status: "read" }>;

function totals(files: readonly ReadFile[]): Totals {
  const sum = (of: (file: ReadFile) => number): number => files.reduce((all, file) => all + of(file), 0);
  return {
    sessions: files.length,
    messages: sum(({ messages }) => messages),
    toolResults: sum(({ toolResults }) => toolResults),
    chars: sum(({ chars }) => chars),
    tokens: sum(({ tokens }) => tokens),
    compactions: sum(({ compactions }) => compactions),
  };
}

function percentiles(values: readonly number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

function sumTools(tools: readonly ToolProfile[]): readonly ToolProfile[] {
  const groups = groupBy(tools, ({ tool }) => tool);
  const sum = (group: readonly ToolProfile[], of: Exclude<keyof ToolProfile, "tool">): number =>
    group.reduce((all, each) => all + each[of], 0);
  return Array.from(groups, ([tool, group]) => ({
    tool,
    calls: sum(group, "calls"),
    failed: sum(group, "failed"),
    chars: sum(group, "chars"),
    tokens: sum(group, "tokens"),
  })).sort((a, b) => b.tokens - a.tokens);
}

function sumSecrets(secrets: readonly SecretCount[]): readonly SecretCount[] {
  const groups = groupBy(secrets, ({ type }) => type);
  return Array.from(groups, ([type, group]) => ({ type, count: countIn(group) })).sort(
    (a, b) => b.count - a.count,
  );
}

function countIn(secrets: readonly SecretCount[]): number {
  return secrets.reduce((sum, { count }) => sum + count, 0);
}

function worstOf(files: readonly ReadFile[], top: number): Worst {
  return {
    largestWindows: files
      .map(({ path, window }) => ({ path, tokens: window.tokens }))
      .sort((a, b) => b.tokens - a.tokens)
      .slice(0, top),
    largestItems: files
      .flatMap(({ path, largest }) => largest.map((item) => ({ file: path, ...item })))
      .sort((a, b) => b.tokens - a.tokens)
      .slice(0, top),
    needless: files
      .map(({ path, superseded }) => ({ path, ...superseded }))
      .filter(({ results }) => results > 0)
      .sort((a, b) => b.chars - a.chars)
      .slice(0, top),
    secrets: files
      .map(({ path, secrets }) => ({ path, count: countIn(secrets) }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count)
      .slice(0, top),
  };
}
