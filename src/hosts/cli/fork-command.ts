import { rename, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { buildForkPreamble } from "../../fork/build-fork-preamble.ts";
import { FORK_CHAR_BUDGET } from "../../fork/fork-options.ts";
import { formatMessagesAsContext } from "../../fork/format-messages-as-context.ts";
import { processMessagesForFork } from "../../fork/process-messages-for-fork.ts";
import { opencode } from "../../formats/opencode/opencode.ts";
import { CliError } from "./cli-error.ts";
import { colorsFor } from "./colors.ts";
import { forkReport } from "./fork-report.ts";
import { readSession, type SessionFile } from "./read-session.ts";

/** `carryover fork`: what a child would inherit of a session. */
export function forkCommand(): Command {
  return new Command("fork")
    .description("show what a child agent would inherit of a session")
    .argument("<file>", "an OpenCode export or message list; - reads standard input")
    .option("--text", "print what the child is sent: the preamble and the inherited context")
    .option("--json", "print { preamble, text, stats, edits } for a program to read")
    .option("--out <file>", "write what the child is sent to a file")
    .option("--budget <chars>", "most characters of the inherited context", parseBudget, FORK_CHAR_BUDGET)
    .option("--redact", "replace secrets by placeholders, for a child of another provider")
    .addHelpText("after", EXAMPLES)
    .action(runFork);
}

const EXAMPLES = `
Examples:
  opencode export ses_abc > session.json && carryover fork session.json
  opencode export ses_abc | carryover fork - --text
  carryover fork session.json --budget 50000 --out child.txt
  carryover fork session.json --json | jq .stats`;

interface ForkFlags {
  readonly text?: true;
  readonly json?: true;
  readonly out?: string;
  readonly budget: number;
  readonly redact?: true;
}

async function runFork(path: string, flags: ForkFlags): Promise<void> {
  if (flags.text && flags.json)
    throw new CliError("--text and --json both print to standard output", ["Choose one of them."]);
  const session = await readSession(path);
  for (const warning of session.warnings)
    process.stderr.write(`warning: ${path}: ${warning}; the rest is used\n`);

  const options = {
    budgetChars: flags.budget,
    ...(session.sessionId !== undefined && { sessionId: session.sessionId }),
    ...(flags.redact && { secrets: "redact" as const }),
  };
  const processed = processMessagesForFork(opencode.decode(session.wire), options);
  const { text, stats } = formatMessagesAsContext(processed.messages, processed.stats, options);
  const preamble = buildForkPreamble(stats);
  const handover = text === "" ? "" : `${preamble}\n\n${text}\n`;

  if (flags.out !== undefined) await writeWhole(flags.out, handover);
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ preamble, text, stats, edits: processed.edits }, null, 2)}\n`);
  } else if (flags.text) {
    process.stdout.write(handover);
  } else if (text === "") {
    process.stdout.write(`${titleOf(session)}: nothing to inherit, the session has no messages to show.\n`);
  } else {
    const colors = colorsFor(process.stdout);
    process.stdout.write(
      `${forkReport({ stats, edits: processed.edits, preamble, title: titleOf(session), colors })}\n\n`,
    );
    process.stdout.write(`${whereTo(flags.out)}\n`);
  }
}

function whereTo(out: string | undefined): string {
  return out === undefined
    ? "Add --text to print the whole of it, or --out <file> to write it."
    : `Full text written to ${resolve(out)}`;
}

/** Writes a file at once, so that an interrupt leaves the old one or the new one, never half of it. */
async function writeWhole(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, content);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new CliError(`Cannot write ${path}: ${(error as Error).message}`, [], { cause: error });
  }
}

function titleOf({ title, sessionId }: SessionFile): string {
  return [title, sessionId].filter((name) => name !== undefined).join(" · ") || "Session";
}

function parseBudget(value: string): number {
  const chars = Number(value.replace(/[_,]/g, ""));
  if (!Number.isInteger(chars) || chars < 512)
    throw new InvalidArgumentError("Give a whole number of characters, at least 512.");
  return chars;
}
