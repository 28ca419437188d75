import { resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { buildForkPreamble } from "../../fork/build-fork-preamble.ts";
import { forkContext } from "../../fork/fork-context.ts";
import { FORK_CHAR_BUDGET, type ForkProfile } from "../../fork/fork-options.ts";
import { repairPairing } from "../../stages/repair-pairing.ts";
import { applyEdits } from "../../transcript/apply-edits.ts";
import type { Edit } from "../../transcript/edit.ts";
import { CliError } from "./cli-error.ts";
import { colorsFor } from "./colors.ts";
import { sizeOf } from "./count-of.ts";
import { editedText } from "./edited-text.ts";
import { forkReport } from "./fork-report.ts";
import { createPatience } from "./patience.ts";
import { type InputFile, readInput } from "./read-input.ts";
import { sessionLabel } from "./session-name.ts";
import { warn } from "./warn.ts";
import { writeWhole } from "./write-whole.ts";

/** `carryover fork`: what a child would inherit of a session. */
export function forkCommand(): Command {
  return new Command("fork")
    .description("show what a child agent would inherit of a session")
    .argument("<file>", "a transcript of any format that is known, also gzipped; - reads standard input")
    .option("--text", "print what the child is sent: the preamble and the inherited context")
    .option("--json", "print { preamble, text, stats, edits } for a program to read")
    .addOption(
      new Option("--as <form>", "print the text, the messages in the file's own format, or json").choices(
        FORMS,
      ),
    )
    .option("--out <file>", "write it to a file: the text, or what --as says")
    .option("--budget <chars>", "most characters of the inherited context", budgetOf, FORK_CHAR_BUDGET)
    .addOption(
      new Option(
        "--profile <name>",
        "fill keeps the lines most likely needed next, up to the budget; fixed cuts by age to the documented limits",
      )
        .choices(PROFILES)
        .default("fill"),
    )
    .option("--redact", "replace secrets by placeholders, for a child of another provider")
    .addHelpText("after", EXAMPLES)
    .action(runFork);
}

const PROFILES: readonly ForkProfile[] = ["fill", "fixed"];

type Form = "text" | "messages" | "json";
const FORMS: readonly Form[] = ["text", "messages", "json"];

const EXAMPLES = `
Examples:
  opencode export ses_abc > session.json && carryover fork session.json
  opencode export ses_abc | carryover fork - --text
  carryover fork session.json --budget 50000 --out child.txt
  carryover fork ~/.codex/sessions/2026/01/05/rollout.jsonl --as messages > child.jsonl
  carryover fork session.json --json | jq .stats`;

interface ForkFlags {
  readonly text?: true;
  readonly json?: true;
  readonly as?: Form;
  readonly out?: string;
  readonly budget: number;
  readonly profile: ForkProfile;
  readonly redact?: true;
}

async function runFork(path: string, flags: ForkFlags): Promise<void> {
  const form = formAsked(flags);
  const patience = createPatience();
  patience.say(`reading ${path}`);
  const session = await readInput(path).finally(() => patience.end());
  warn(session);

  const options = {
    budgetChars: flags.budget,
    profile: flags.profile,
    ...(session.sessionId !== undefined && { sessionId: session.sessionId }),
    ...(flags.redact && { secrets: "redact" as const }),
  };
  const { text, stats, edits } = forkContext(session.transcript, options);
  const preamble = buildForkPreamble(stats);
  const contents: Readonly<Record<Form, () => string>> = {
    text: () => (text === "" ? "" : `${preamble}\n\n${text}\n`),
    messages: () => messagesText(session, edits),
    json: () => `${JSON.stringify({ preamble, text, stats, edits }, null, 2)}\n`,
  };
  const content = contents[form ?? "text"]();

  if (flags.out !== undefined) await writeWhole(flags.out, content);
  const title = sessionLabel(session, "Session");
  if (form === "json" || (form !== undefined && flags.out === undefined)) {
    process.stdout.write(content);
  } else if (text === "") {
    process.stdout.write(`${title}: nothing to inherit, the session has no messages to show.\n`);
  } else {
    const report = forkReport({ stats, edits, preamble, title, colors: colorsFor(process.stdout) });
    process.stdout.write(`${report}\n\n${whereTo(flags.out)}\n`);
  }
}

/** `--text` and `--json` are short for `--as`. */
function formAsked({ text, json, as }: ForkFlags): Form | undefined {
  const asked = [text && "text", json && "json", as].filter((form): form is Form => form !== undefined);
  if (new Set(asked).size > 1) {
    const names = [text && "--text", json && "--json", as && `--as ${as}`].filter(Boolean);
    throw new CliError(`${names.join(" and ")} both print to standard output`, ["Choose one of them."]);
  }
  return asked[0];
}

/** What is left may begin with an answer or hold half a call; it is mended, so that it can be sent. */
function messagesText(session: InputFile, edits: readonly Edit[]): string {
  const at = Date.now();
  const repairs = repairPairing(applyEdits(session.transcript, edits, { at }));
  return editedText(session, [...edits, ...repairs], { at, order: "of-the-list" });
}

function whereTo(out: string | undefined): string {
  return out === undefined
    ? "Add --text to print the whole of it, or --out <file> to write it."
    : `Full text written to ${resolve(out)}`;
}

function budgetOf(value: string): number {
  const chars = sizeOf(value);
  if (chars < MIN_BUDGET_CHARS)
    throw new InvalidArgumentError(`Give a whole number of characters, at least ${MIN_BUDGET_CHARS}.`);
  return chars;
}

const MIN_BUDGET_CHARS = 512;
