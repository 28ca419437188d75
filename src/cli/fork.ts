import { resolve } from "node:path";
import { Command, Option } from "commander";
import type { ProcessingStats } from "../fork/context/format.ts";
import { FORK_CHAR_BUDGET, type ForkProfile } from "../fork/context/options.ts";
import { forkContext } from "../fork/fork.ts";
import { redactTranscript } from "../stages/redact.ts";
import { repairPairing } from "../stages/repair.ts";
import { formatNumber } from "../text/format-number.ts";
import { applyEdits, type Edit } from "../transcript/edit.ts";
import { editedText } from "./files/edited-text.ts";
import { modelOfFile } from "./files/model-of-file.ts";
import { type InputFile, sessionLabel } from "./files/read-input.ts";
import { FORCE_OPTION, outputFile, writeOutputFile } from "./files/write-file.ts";
import { openNamedSession, SESSION_ARGUMENT, sessionPath } from "./sessions/open-session.ts";
import { parseBudget } from "./terminal/arguments.ts";
import { CliError } from "./terminal/cli-error.ts";
import { type Colors, colorsFor } from "./terminal/output.ts";
import { jsonText } from "./terminal/print-json.ts";
import { renderTable } from "./terminal/table.ts";

/** `carryover fork`: what a child would inherit of a session. */
export function forkCommand(): Command {
  return new Command("fork")
    .description("show what a child agent would inherit of a session")
    .argument("<session>", SESSION_ARGUMENT)
    .option("--text", "print what the child is sent: the preamble and the inherited context")
    .option("--json", "print { preamble, text, stats, edits } for a program to read")
    .addOption(
      new Option("--as <form>", "print the text, the messages in the file's own format, or json").choices(
        FORMS,
      ),
    )
    .option("--out <file>", "write it to a file: the text, or what --as says")
    .option(...FORCE_OPTION)
    .option("--budget <chars>", "most characters of the inherited context", parseBudget, FORK_CHAR_BUDGET)
    .addOption(
      new Option(
        "--profile <name>",
        "default keeps the lines most likely needed next, up to the budget; documented cuts by age to the documented limits",
      )
        .choices(PROFILES)
        .default("default"),
    )
    .option("--redact", "replace secrets by placeholders, for a child of another provider")
    .addHelpText("after", EXAMPLES)
    .action(runFork);
}

const PROFILES: readonly ForkProfile[] = ["default", "documented"];

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
  readonly force?: true;
  readonly budget: number;
  readonly profile: ForkProfile;
  readonly redact?: true;
}

async function runFork(named: string, flags: ForkFlags): Promise<void> {
  const form = requestedForm(flags);
  const path = await sessionPath(named);
  const out = await outputFile("--out", flags.out, { inputs: [path], ...flags });
  const { file: session } = await openNamedSession(path, { keep: form === "messages" ? "all" : "window" });
  const model = modelOfFile(session);
  const options = {
    ...(model && { model }),
    budgetChars: flags.budget,
    profile: flags.profile,
    ...(session.sessionId !== undefined && { sessionId: session.sessionId }),
    ...(flags.redact && { redact: redactTranscript() }),
  };
  const { text, preamble, stats, edits } = forkContext(session.transcript, options);
  const contents: Readonly<Record<Form, () => string>> = {
    text: () => (text === "" ? "" : `${preamble}\n\n${text}\n`),
    messages: () => messagesText(session, edits),
    json: () => jsonText({ preamble, text, stats, edits }),
  };
  const content = contents[form ?? "text"]();

  if (out !== undefined) await writeOutputFile(out, content);
  const title = sessionLabel(session, "Session");
  if (form === "json" || (form !== undefined && flags.out === undefined)) {
    process.stdout.write(content);
  } else if (text === "") {
    process.stdout.write(`${title}: nothing to inherit, the session has no messages to show.\n`);
  } else {
    const report = forkReport({ stats, edits, preamble, title, colors: colorsFor(process.stdout) });
    process.stdout.write(`${report}\n\n${outputHint(flags.out)}\n`);
  }
}

/** `--text` and `--json` are short for `--as`. */
function requestedForm({ text, json, as }: ForkFlags): Form | undefined {
  const asked = [text && "text", json && "json", as].filter((form): form is Form => form !== undefined);
  if (new Set(asked).size > 1) {
    const names = [text && "--text", json && "--json", as && `--as ${as}`].filter(Boolean);
    throw new CliError(`${names.join(" and ")} both print to standard output`, ["Choose one of them."]);
  }
  return asked[0];
}

/** The messages after the edits; pairs of call and result that the edits broke are repaired, so that they can be sent. */
function messagesText(session: InputFile, edits: readonly Edit[]): string {
  const at = Date.now();
  const repairs = repairPairing(applyEdits(session.transcript, edits, { at }));
  return editedText(session, [...edits, ...repairs], { at, order: "of-the-list" });
}

function outputHint(out: string | undefined): string {
  return out === undefined
    ? "Add --text to print the whole of it, or --out <file> to write it."
    : `Full text written to ${resolve(out)}`;
}

interface ForkReportInput {
  readonly stats: ProcessingStats;
  readonly edits: readonly Edit[];
  readonly preamble: string;
  readonly title: string;
  readonly colors: Colors;
}

/** What was inherited, what was cut and why, and the preamble, for the terminal. */
function forkReport({ stats, edits, preamble, title, colors }: ForkReportInput): string {
  const budgetChars = stats.applied?.budgetChars ?? 0;
  const share = budgetChars === 0 ? 0 : Math.round((100 * stats.totalChars) / budgetChars);
  const { tier1, tier2, tier3 } = stats.tierDistribution;
  return [
    colors.bold(title),
    "",
    colors.bold("Inherited"),
    renderTable([
      ["messages", formatNumber(stats.finalCount), `of ${formatNumber(stats.originalCount)}`],
      [
        "characters",
        formatNumber(stats.totalChars),
        `${share} % of the budget of ${formatNumber(budgetChars)}`,
      ],
      [
        "tool results",
        formatNumber(tier1 + tier2 + tier3),
        `${tier1} newest, ${tier2} in the middle, ${tier3} old`,
      ],
      ...(stats.missedMinimums
        ? [
            [
              "limits not kept",
              formatNumber(stats.missedMinimums.length),
              "results below what is documented for their age",
            ],
          ]
        : []),
      ...(stats.clearedResults
        ? [["cleared results", formatNumber(stats.clearedResults), "placeholders: the host had pruned them"]]
        : []),
      ...(stats.compactionDetected
        ? [["summary", "1", "of the compaction, with what the host kept word for word"]]
        : []),
    ]),
    "",
    colors.bold("Cut, and why"),
    renderTable(cutRows(edits)) || "  nothing",
    "",
    colors.bold("Preamble"),
    ...preamble.split("\n").map((line) => `  ${line}`),
  ].join("\n");
}

function cutRows(edits: readonly Edit[]): readonly (readonly string[])[] {
  const rows = new Map<string, { count: number; chars: number }>();
  for (const edit of edits) {
    const row = rows.get(edit.reason) ?? { count: 0, chars: 0 };
    row.count++;
    row.chars += edit.omitted?.chars ?? 0;
    rows.set(edit.reason, row);
  }
  rows.delete("retained-tail");
  const order = Object.keys(EXPLANATIONS);
  return [...rows]
    .sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
    .map(([reason, { count, chars }]) => {
      const [what, why] = EXPLANATIONS[reason] ?? [reason, ""];
      return [what, formatNumber(count), `${formatNumber(chars)} chars`, why];
    });
}

/** The reasons of edits in words. */
const EXPLANATIONS: Readonly<Record<string, readonly [what: string, why: string]>> = {
  "before-compaction": ["messages", "the compaction summary stands for them"],
  reasoning: ["reasoning parts", "thoughts of the parent are not inherited"],
  ignored: ["notes to the user", "the model never saw them"],
  "own-hint": ["own hints", "meant for the parent only"],
  "in-flight": ["unfinished launches", "the child itself is one of them"],
  secret: ["parts with secrets", "placeholders stand for them"],
  "nested-preamble": ["preambles", "of a context that the parent had inherited"],
  "tier-2": ["middle results", "past their limit: the beginning stays, or both ends"],
  "tier-3": ["old results", "past their limit: the beginning stays, or both ends"],
  params: ["tool inputs", "shortened by age; their results are whole"],
  superseded: ["replaced results", "something newer shows the same; a line says what"],
  "selected-lines": ["texts", "only the lines most likely needed stay"],
  restored: ["cleared outputs", "brought back on request"],
  "over-budget": ["messages", "the oldest left, to keep the budget"],
  oversize: ["long texts", "shortened: the budget is hard"],
};
