import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { Command, Option } from "commander";
import { parseRange, RANGE } from "../../plugin/tools/tools.ts";
import {
  hiddenTexts,
  RECALL_MAX_CHARS,
  type Recalled,
  type RecallRequest,
  recall,
} from "../../session/recall.ts";
import { formatMatches } from "../../session/search.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { withSessionFile } from "../sessions/session-file.ts";
import { CliError } from "../terminal/cli-error.ts";
import { createProgressLine, printJson } from "../terminal/output.ts";
import { readSession } from "./read-session.ts";

/** `carryover recall`: what a session once held, by a handle or by words. */
export function recallCommand(): Command {
  return new Command("recall")
    .description("read again what a session once held, by words or by a handle")
    .argument("<session>", "the file or the id of a session")
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

Everything is searched that the file holds, also what a compaction took away, branches that were left, and sub-agents.`;

interface RecallFlags {
  readonly range?: string;
  readonly secrets?: "out" | "keep";
  readonly json?: true;
}

async function runRecall(wanted: string, words: readonly string[], flags: RecallFlags): Promise<void> {
  const { range } = flags;
  if (range !== undefined && !RANGE.pattern?.test(range))
    throw new CliError(`${range} is no range`, [`Give ${RANGE.expects}.`]);
  const progress = createProgressLine();
  progress.show(`reading ${wanted}`);
  const { transcript } = await withSessionFile(wanted, process.env, ({ path }) =>
    readSession(path, "all"),
  ).finally(() => progress.end());
  const found = await recallFrom(transcript, words, flags);
  if (flags.json) printJson(found);
  else process.stdout.write(`${textOf(found, words.join(" "))}\n`);
}

/** A handle where there is one of this name; words otherwise. */
async function recallFrom(
  transcript: Transcript,
  words: readonly string[],
  { range, secrets }: RecallFlags,
): Promise<Recalled> {
  const byId = new Map<string, Message>(transcript.map((message) => [message.id, message]));
  const source = {
    messages: () => ({ find: (id: string) => byId.get(id), list: () => transcript }),
    spilled: async () => undefined,
    hidden: () => hiddenTexts(transcript, new Map()),
  };
  const options = {
    maxChars: RECALL_MAX_CHARS,
    range: range === undefined ? undefined : parseRange(range),
    redact: secrets === "out" ? {} : undefined,
  };
  const ask = (request: RecallRequest): Promise<Recalled> => recall(source, request, options);
  const [first = "", ...rest] = words;
  const named = await ask(rest.length === 0 ? first : { search: rest.join(" "), handle: first });
  return named.status === "missing" ? ask({ search: words.join(" ") }) : named;
}

function textOf(found: Recalled, words: string): string {
  switch (found.status) {
    case "found":
      return found.input === undefined ? found.text : `${found.input}\n\n${found.text}`;
    case "matches":
      return found.totalPieces === 0
        ? `Nothing in the session holds "${words}". Try other words.`
        : formatMatches(found);
    case "missing":
      return found.hint;
  }
}

/** How this program is called from a shell: by its name where that is found, else by its path. */
export function ownCommand(env: NodeJS.ProcessEnv): readonly string[] {
  const isThere = (env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, "carryover"), constants.X_OK);
      return folder !== "";
    } catch {
      return false;
    }
  });
  return isThere ? ["carryover"] : [process.execPath, process.argv[1] ?? "carryover"];
}
