import { Command } from "commander";
import { workingDirectoryOf } from "../../eval/eval-session.ts";
import { inspectedSession } from "../inspector/server/inspected-session.ts";
import { fixedSource } from "../inspector/server/session-source.ts";
import { colorsFor } from "./colors.ts";
import { countOf, sizeOf } from "./count-of.ts";
import { findNewestSession } from "./find-newest-session.ts";
import {
  checkFlags,
  type InspectFlags,
  isServed,
  portOf,
  sayOf,
  secretsOf,
  serveFlagsOf,
} from "./inspect-flags.ts";
import { writePage } from "./inspect-html.ts";
import { inspectLive } from "./inspect-live.ts";
import { inspectReport } from "./inspect-report.ts";
import { serveUntilStopped } from "./inspect-serve.ts";
import { createPatience } from "./patience.ts";
import { profileSession } from "./profile-session.ts";
import { type InputFile, readInput } from "./read-input.ts";
import { sessionLabel } from "./session-name.ts";
import { warn } from "./warn.ts";

/** `carryover inspect`: what fills the window of a session, as a table and as a page. */
export function inspectCommand(): Command {
  return new Command("inspect")
    .description("show what fills the window of a session; without a file, of the newest one on this machine")
    .argument("[file]", "a transcript of any format that is known, also gzipped; - reads standard input")
    .option("--json", "print for a program to read")
    .option("--top <n>", "how many tools, files and items are listed", countOf, 10)
    .option("--open", "serve the page on this machine and open it in the browser")
    .option("--html <file>", "write the page as one file that needs nothing else")
    .option(
      "--live",
      "follow a session of OpenCode that runs with the plugin, the newest or the one named by its id",
    )
    .option("--store <folder>", "the plugin's folder, if it is not the one of OpenCode's configuration here")
    .option("--port <n>", "serve the page on this port; any free one when unset", portOf)
    .option("--window <tokens>", "the window of the model, for the page", sizeOf)
    .option("--no-redact", "show secrets on the page")
    .addHelpText("after", EXAMPLES)
    .action(runInspect);
}

const EXAMPLES = `
Examples:
  carryover inspect
  carryover inspect ~/.claude/projects/my-project/0240bd7a.jsonl
  carryover inspect session.jsonl --open
  carryover inspect session.jsonl --html session.html
  carryover inspect --live --open
  opencode export ses_abc | carryover inspect -
  carryover inspect session.json --json | jq '{format, messages, tokens}'`;

async function runInspect(path: string | undefined, flags: InspectFlags): Promise<void> {
  checkFlags(flags);
  if (flags.live) return inspectLive(path, flags);
  const file = await report(path, flags);
  if (flags.html === undefined && !isServed(flags)) return;
  const session = inspectedSession(readSessionOf(file, flags), secretsOf(flags));
  if (flags.html !== undefined) {
    await writePage(flags.html, session);
    sayOf(flags)(`Page: ${flags.html}`);
  }
  if (isServed(flags)) await serveUntilStopped(fixedSource(session), serveFlagsOf(flags));
}

/** Prints what is in the session, and gives it. */
async function report(path: string | undefined, { json, top }: InspectFlags): Promise<InputFile> {
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
      return file;
    }
    const workingDirectory = workingDirectoryOf(file.wire);
    const shown = inspectReport({
      profile,
      title: sessionLabel(file, file.name),
      format: file.format,
      top,
      colors: colorsFor(process.stdout),
      ...(found !== undefined && { found }),
      ...(workingDirectory !== undefined && { workingDirectory }),
    });
    process.stdout.write(`${shown}\n`);
    return file;
  } finally {
    patience.end();
  }
}

function readSessionOf(
  { name, title, sessionId, format, transcript, warnings, wire }: InputFile,
  { window }: InspectFlags,
): Parameters<typeof inspectedSession>[0] {
  const workingDirectory = workingDirectoryOf(wire);
  return {
    name,
    format,
    transcript,
    problems: warnings,
    ...(title !== undefined && { title }),
    ...(sessionId !== undefined && { sessionId }),
    ...(workingDirectory !== undefined && { workingDirectory }),
    ...(window !== undefined && { windowTokens: window }),
  };
}

async function newest(): Promise<{ readonly file: InputFile; readonly found: string }> {
  const { file, found, passedOver } = await findNewestSession(process.env);
  for (const line of passedOver) process.stderr.write(`warning: ${line}\n`);
  return { file, found };
}
