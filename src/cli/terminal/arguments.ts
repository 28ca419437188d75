import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";

/** Parses an argument that is a count of at least one. */
export function parseCount(value: string): number {
  const count = Number(value);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError("Give a whole number from 1 on.");
  return count;
}

/** Adds the options of a command that measures many session files on several threads. */
export function withFolderOptions(command: Command): Command {
  return command
    .option("--json", "print for a program to read")
    .option("--top <n>", "how many of each kind are listed", parseCount, 5)
    .option("--jobs <n>", "threads, for a folder", parseCount, availableParallelism())
    .addOption(new Option("--worker").hideHelp());
}

/** What `withFolderOptions` parses. */
export interface FolderFlags {
  readonly json?: true;
  readonly top: number;
  readonly jobs: number;
  /** Set in a thread that measures for another. */
  readonly worker?: true;
}

/** Adds the options of a command that writes a session with which an agent goes on. */
export function withContinueOptions(command: Command, { secrets, cwd, go }: ContinueWords): Command {
  return command
    .addOption(new Option("--secrets <choice>", secrets).choices(["out", "keep"]))
    .option(
      "--model <provider/model>",
      "the model that goes on, for OpenCode; by default the one that it is set to",
    )
    .option("--cwd <folder>", `${cwd}; by default that of the session`, parseFolder)
    .option("--go", go)
    .option("--json", "print what was found and done for a program to read");
}

/** How a command describes the options that depend on it. */
interface ContinueWords {
  readonly secrets: string;
  readonly cwd: string;
  readonly go: string;
}

/** What `withContinueOptions` parses. */
export interface ContinueFlags {
  readonly secrets?: "out" | "keep";
  readonly model?: string;
  readonly cwd?: string;
  readonly go?: true;
  readonly json?: true;
}

/** Parses an argument that is a size, such as 200_000, 200k, 1m or 1.5m. */
export function parseSize(value: string): number {
  const [, digits = "", unit = ""] = /^(\d[\d_,]*|\d+\.\d+(?=[km]))([km]?)$/i.exec(value.trim()) ?? [];
  const size = Number(digits.replace(/[_,]/g, "")) * (UNITS[unit.toLowerCase()] ?? 1);
  if (digits === "" || !Number.isSafeInteger(size))
    throw new InvalidArgumentError("Give a whole number, such as 200000, 200k or 1m.");
  return size;
}

const UNITS: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 };

/** Parses a budget in characters: a size that is not too small to hold anything. */
export function parseBudget(value: string): number {
  const chars = parseSize(value);
  if (chars < MIN_BUDGET_CHARS)
    throw new InvalidArgumentError(`Give a whole number of characters, at least ${MIN_BUDGET_CHARS}.`);
  return chars;
}

const MIN_BUDGET_CHARS = 512;

/** Parses how many tokens a session may have: a size in which something of it is left. */
export function parseTokenBudget(value: string): number {
  return parseTokens(value, MIN_BUDGET_TOKENS);
}

/** Parses a window, of which a session may have half. */
export function parseWindow(value: string): number {
  return parseTokens(value, MIN_BUDGET_TOKENS * 2);
}

function parseTokens(value: string, least: number): number {
  const tokens = parseSize(value);
  if (tokens >= least) return tokens;
  throw new InvalidArgumentError(`Give at least ${least} tokens: in less there is no room for a session.`);
}

/** The first line, the last words and a summary of the rest fit into this. */
export const MIN_BUDGET_TOKENS = 1_000;

/** Parses a folder that is there, and gives its whole path. */
function parseFolder(value: string): string {
  const found = statSync(value, { throwIfNoEntry: false });
  if (found?.isDirectory()) return resolve(value);
  throw new InvalidArgumentError(
    found === undefined ? "There is no such folder." : "It is a file; give a folder.",
  );
}
