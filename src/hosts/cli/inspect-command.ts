import { Command } from "commander";
import { workingDirectoryOf } from "../../eval/eval-session.ts";
import { colorsFor } from "./colors.ts";
import { countOf } from "./count-of.ts";
import { findNewestSession } from "./find-newest-session.ts";
import { inspectReport } from "./inspect-report.ts";
import { createPatience } from "./patience.ts";
import { profileSession } from "./profile-session.ts";
import { type InputFile, readInput } from "./read-input.ts";
import { sessionLabel } from "./session-name.ts";
import { warn } from "./warn.ts";

/** `carryover inspect`: what fills the window of a session. */
export function inspectCommand(): Command {
  return new Command("inspect")
    .description("show what fills the window of a session; without a file, of the newest one on this machine")
    .argument("[file]", "a transcript of any format that is known, also gzipped; - reads standard input")
    .option("--json", "print for a program to read")
    .option("--top <n>", "how many tools, files and items are listed", countOf, 10)
    .addHelpText("after", EXAMPLES)
    .action(runInspect);
}

const EXAMPLES = `
Examples:
  carryover inspect
  carryover inspect ~/.claude/projects/my-project/0240bd7a.jsonl
  opencode export ses_abc | carryover inspect -
  carryover inspect session.json --json | jq '{format, messages, tokens}'`;

interface InspectFlags {
  readonly json?: true;
  readonly top: number;
}

async function runInspect(path: string | undefined, { json, top }: InspectFlags): Promise<void> {
  const patience = createPatience();
  try {
    patience.say(`reading ${path ?? "the newest session"}`);
    const { file, found } =
      path === undefined ? await newest() : { file: await readInput(path, "live"), found: undefined };
    warn(file);
    patience.say(`measuring ${file.transcript.length} messages`);
    const profile = profileSession(file.transcript, { top });
    patience.end();
    if (json) {
      const { format, reason, sessionId, title, problems } = file;
      const head = { file: file.name, format, reason, sessionId, title };
      const rest = { ...profile, byFile: profile.byFile.slice(0, top), byTool: profile.byTool.slice(0, top) };
      process.stdout.write(`${JSON.stringify({ ...head, ...rest, problems }, null, 2)}\n`);
      return;
    }
    const workingDirectory = workingDirectoryOf(file.wire);
    const report = inspectReport({
      profile,
      title: sessionLabel(file, file.name),
      format: file.format,
      top,
      colors: colorsFor(process.stdout),
      ...(found !== undefined && { found }),
      ...(workingDirectory !== undefined && { workingDirectory }),
    });
    process.stdout.write(`${report}\n`);
  } finally {
    patience.end();
  }
}

async function newest(): Promise<{ readonly file: InputFile; readonly found: string }> {
  const { file, found, passedOver } = await findNewestSession(process.env);
  for (const line of passedOver) process.stderr.write(`warning: ${line}\n`);
  return { file, found };
}
