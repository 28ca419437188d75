import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Command, Option } from "commander";
import { folderBeside } from "../../agents/places.ts";
import { findProgram } from "../../agents/programs.ts";
import { parseRange, RANGE } from "../../plugin/tools/text-range.ts";
import {
  hiddenTexts,
  RECALL_MAX_CHARS,
  type Recalled,
  type RecallRequest,
  recall,
} from "../../session/recall.ts";
import { formatMatches } from "../../session/search.ts";
import { formatNumber, plural } from "../../text/format-number.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { SESSION_ARGUMENT, withSessionFile } from "../sessions/open-session.ts";
import { CliError } from "../terminal/cli-error.ts";
import { printJson } from "../terminal/print-json.ts";
import { createProgressLine } from "../terminal/progress-line.ts";
import { readSession } from "./read-session.ts";

/** `carryover recall`: what a session once held, by a handle or by words. */
export function recallCommand(): Command {
  return new Command("recall")
    .description("read again what a session once held, by words or by a handle")
    .argument("<session>", SESSION_ARGUMENT)
    .argument("<what...>", "words to look for, or a handle")
    .option("--range <range>", `a piece of what a handle names: ${RANGE.expects}`)
    .addOption(new Option("--secrets <choice>", "take secrets out, or keep them").choices(["out", "keep"]))
    .option("--json", "print for a program to read")
    .addHelpText("after", EXAMPLES)
    .action(runRecall);
}

const EXAMPLES = `
Examples:
  carryover recall session.jsonl disk quota exceeded
  carryover recall 0c3182b1-f294 msg_01AbC/2 --range 20-80

Everything is searched that the file holds, also what a compaction took away, branches that were left, and sub-agents,
and what Claude Code keeps in files beside it.`;

interface RecallFlags {
  readonly range?: string;
  readonly secrets?: "out" | "keep";
  readonly json?: true;
}

async function runRecall(wanted: string, words: readonly string[], flags: RecallFlags): Promise<void> {
  checkRequest(words, flags);
  const progress = createProgressLine();
  progress.show(`reading ${wanted}`);
  const transcript = await withSessionFile(wanted, process.env, async ({ path }) => [
    ...(await filesBeside(path)),
    ...(await readSession(path, "all")).transcript,
  ]).finally(() => progress.end());
  const found = await recallFrom(transcript, words, flags);
  if (flags.json) printJson(found);
  if ("hint" in found) throw new CliError(found.hint);
  if (!flags.json) process.stdout.write(`${recalledText(found)}\n`);
}

/** What Claude Code keeps in a folder beside a session: its sub-agents, and outputs that were too long for a message. */
async function filesBeside(path: string): Promise<Transcript> {
  const folder = folderBeside(path);
  if (folder === path) return [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const found = entries
    .filter((entry) => entry.isFile())
    .map(async ({ name, parentPath }): Promise<Transcript> => {
      const file = join(parentPath, name);
      if (/^agent-.*\.jsonl$/.test(name))
        return readSession(file, "all").then(
          ({ transcript }) => transcript,
          () => [],
        );
      if (basename(parentPath) !== "tool-results") return [];
      const text = await readFile(file, "utf8").catch(() => "");
      return [{ id: `tool-results/${name}`, role: "user", parts: [{ type: "text", text }] }];
    });
  return (await Promise.all(found)).flat();
}

function checkRequest(words: readonly string[], { range }: RecallFlags): void {
  if (words.join("").trim() === "") throw new CliError("Give words to look for, or a handle");
  if (range === undefined) return;
  if (!RANGE.pattern?.test(range)) throw new CliError(`${range} is no range`, [`Give ${RANGE.expects}.`]);
  if (words.length > 1)
    throw new CliError("--range is a piece of what a handle names, and not of a search", [
      "Give one handle, or leave --range out.",
    ]);
}

/** A handle where there is one of this name; words otherwise. What is not there, or is empty, is `missing`. */
async function recallFrom(
  transcript: Transcript,
  words: readonly string[],
  { range, secrets }: RecallFlags,
): Promise<Recalled> {
  const byId = new Map<string, Message>(transcript.map((message) => [message.id, message]));
  const find = (id: string): Message | undefined => byId.get(id) ?? (TIME.test(id) ? atTime(id) : undefined);
  const atTime = (time: string) => transcript.find(({ createdAt }) => createdAt === Date.parse(time));
  const source = {
    messages: () => ({ find, list: () => transcript }),
    saved: async () => undefined,
    hidden: () => hiddenTexts(transcript, new Map()),
  };
  const options = {
    maxChars: RECALL_MAX_CHARS,
    range: range === undefined ? undefined : parseRange(range),
    redact: secrets === "out" ? {} : undefined,
  };
  const ask = (request: RecallRequest): Promise<Recalled> => recall(source, request, options);
  const [first = "", ...rest] = words;
  const all = words.join(" ");
  const named = await ask(rest.length === 0 ? first : { search: rest.join(" "), handle: first });
  if (named.status === "found" && named.text === "" && named.totalLines > 0)
    return missing(
      `${first} has ${plural(named.totalLines, "line")} and ${formatNumber(named.totalChars)} characters: nothing stands in ${range}.`,
    );
  if (named.status !== "missing") return somethingOf(named, `Nothing in ${first} holds "${rest.join(" ")}".`);
  if (range !== undefined) return missing(`The session has nothing under the handle ${first}.`);
  const searched = await ask({ search: all });
  if (!HANDLE.test(first))
    return somethingOf(searched, `Nothing in the session holds "${all}". Try other words.`);
  const pieces = searched.status === "matches" ? searched.pieces : [];
  const naming = pieces.filter((piece) => JSON.stringify(piece).includes(first)).map(({ handle }) => handle);
  const where = [...new Set(naming)].slice(0, MAX_NAMING).join(", ");
  return missing(
    `The session has nothing under the handle ${first}. ${where === "" ? "Words find what there is, with its handles." : `It is named in ${where}.`}`,
  );
}

/** What handles look like: ids of messages, with the number of a part, and hashes. */
const HANDLE =
  /^(?:\d{4}-\d\d-\d\dT[\d:.]+Z(?:\/\d{1,4})?|tool-results\/[\w.-]+|[\w-]*\d[\w-]*\/\d{1,4}|(?:msg|prt|ses|toolu|call)_\w*\d\w*|line-\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32,64}|[0-9a-f]{4,63}(?:…|\.{3})|\S+\.\.\S*\d\S*)$/;
/** What summaries call a message that has no id of its own, as the user's in Codex. */
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const MAX_NAMING = 5;

function missing(hint: string): Recalled {
  return { status: "missing", hint };
}

function somethingOf(found: Recalled, hint: string): Recalled {
  return found.status === "matches" && found.totalPieces === 0 ? missing(hint) : found;
}

function recalledText(found: Exclude<Recalled, { status: "missing" | "failed" }>): string {
  if (found.status === "matches") return formatMatches(found);
  return found.input === undefined ? found.text : `${found.input}\n\n${found.text}`;
}

/** How this program is called from a shell: by its name where that is found, else by its path. */
export function ownCommand(env: NodeJS.ProcessEnv): readonly string[] {
  return findProgram("carryover", env) === undefined
    ? [process.execPath, process.argv[1] ?? "carryover"]
    : ["carryover"];
}
