import { Command } from "commander";
import { programOf } from "../install/install.ts";
import { STORE_OPTION } from "../opencode/with-stores.ts";
import { CliError } from "../terminal/cli-error.ts";
import { colorsFor } from "../terminal/output.ts";
import { printJson } from "../terminal/print-json.ts";
import { renderFindings } from "./check.ts";
import { diagnoseHookAgent } from "./hook-agents.ts";
import { diagnoseOpencode } from "./opencode.ts";

/** `carryover doctor`: checks whether the plugin works here, and says what to do if it does not. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .description("check an agent, the plugin, its settings and its store, and that our edits reach the model")
    .argument("[agent]", "opencode, claude-code or codex", "opencode")
    .option("--json", "print { findings } for a program to read")
    .option(
      "--opencode <path>",
      "the program of OpenCode; that of OPENCODE_BIN, or the one on PATH, when unset",
    )
    .option(...STORE_OPTION)
    .option("--no-self-test", "do not run OpenCode")
    .addHelpText("after", EXAMPLES)
    .action(runDoctor);
}

const EXAMPLES = `
Examples:
  carryover doctor
  carryover doctor claude-code
  carryover doctor codex
  carryover doctor --no-self-test --json | jq '.findings[] | select(.level == "problem")'

OpenCode is started twice: in this folder, as a server for this machine only, to be asked which tools it has; and for the
self-test in a folder that is thrown away, with a model of ours. Claude Code and Codex are asked which plugins they have.
Nothing is sent to your provider.
Exit codes: 0 nothing has to be done, 2 something has, 1 a fault of Carryover.`;

interface DoctorFlags {
  readonly json?: true;
  readonly opencode?: string;
  readonly store?: string;
  readonly selfTest: boolean;
}

async function runDoctor(agent: string, flags: DoctorFlags): Promise<void> {
  const hooked = agent === "opencode" ? undefined : programOf(agent);
  const onWait = (): void => {
    const title = hooked?.title ?? "OpenCode";
    if (!flags.json) process.stderr.write(`Running ${title}; this takes some seconds.\n`);
  };
  const setup = { ...flags, directory: process.cwd(), env: process.env, onWait };
  const findings = await (hooked === undefined ? diagnoseOpencode(setup) : diagnoseHookAgent(hooked, setup));
  if (flags.json) printJson({ findings });
  else process.stdout.write(renderFindings(findings, colorsFor(process.stdout)));
  const problems = findings.filter(({ level }) => level === "problem").length;
  if (problems > 0)
    throw new CliError(problems === 1 ? "1 thing has to be done" : `${problems} things have to be done`);
}
