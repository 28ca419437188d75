import { execFile } from "node:child_process";
import { access, constants, copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { Command } from "commander";
import { isDatabase } from "../../plugin/stores/plugin-stores.ts";
import { type HostConfiguration, isCarryover, readHostConfiguration } from "../opencode/configuration.ts";
import { findPluginFolders, findStoreOption, STORE_OPTION } from "../opencode/with-stores.ts";
import { CliError } from "../terminal/cli-error.ts";
import { colorsFor, printJson } from "../terminal/output.ts";
import { checkSettings } from "./check-settings.ts";
import { checkDatabase, checkStore } from "./check-store.ts";
import { type Finding, renderFindings } from "./finding.ts";
import { runSelfTest } from "./self-test.ts";

/** `carryover doctor`: checks whether the OpenCode plugin works here, and says what to do if it does not. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .description("check OpenCode, the plugin, its settings and its store, and that our edits reach the model")
    .option("--json", "print { findings } for a program to read")
    .option("--opencode <path>", "the program of OpenCode; the one on PATH when unset")
    .option("--plugin <path>", "the plugin to test; the configured one, or that of this package, when unset")
    .option(...STORE_OPTION)
    .option("--no-self-test", "do not run OpenCode")
    .addHelpText("after", EXAMPLES)
    .action(runDoctor);
}

const EXAMPLES = `
Examples:
  carryover doctor
  carryover doctor --no-self-test --json | jq '.findings[] | select(.level == "problem")'

The self-test runs your OpenCode once in a folder that is thrown away, with a model of ours on this machine.
Exit codes: 0 nothing has to be done, 2 something has, 1 a fault of Carryover.`;

/** The version of OpenCode that the plugin is tested with. */
const TESTED_OPENCODE_VERSION = "1.18.33";

interface DoctorFlags {
  readonly json?: true;
  readonly opencode?: string;
  readonly plugin?: string;
  readonly store?: string;
  readonly selfTest: boolean;
}

async function runDoctor(flags: DoctorFlags): Promise<void> {
  const { env } = process;
  const configuration = await readHostConfiguration({ directory: process.cwd(), env });
  const binary = await findProgram(flags.opencode ?? "opencode", env.PATH ?? "");
  const store = await findStoreOption(flags.store);
  const findings = [
    ...(await checkHost(binary)),
    ...checkSettings(configuration, env),
    ...(store !== undefined && isDatabase(store)
      ? await checkDatabase(store)
      : await checkStore(await findPluginFolders(store))),
  ];
  if (flags.selfTest && binary !== undefined) {
    if (!flags.json) process.stderr.write("Running OpenCode once; this takes some seconds.\n");
    findings.push(...(await selfTest({ binary, plugin: flags.plugin, configuration })));
  }
  if (flags.json) printJson({ findings });
  else process.stdout.write(renderFindings(findings, colorsFor(process.stdout)));
  const problems = findings.filter(({ level }) => level === "problem").length;
  if (problems > 0)
    throw new CliError(problems === 1 ? "1 thing has to be done" : `${problems} things have to be done`);
}

async function checkHost(binary: string | undefined): Promise<Finding[]> {
  const check = "opencode";
  const advice = `Install it (npm i -g opencode-ai@${TESTED_OPENCODE_VERSION}), or name it with --opencode.`;
  if (binary === undefined)
    return [{ check, level: "problem", what: "OpenCode is not on PATH, or not executable", advice }];
  const version = await promisify(execFile)(binary, ["--version"], { timeout: VERSION_MS }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
  if (version === undefined)
    return [{ check, level: "problem", what: `${binary} does not say its version`, advice }];
  if (version === TESTED_OPENCODE_VERSION)
    return [{ check, level: "ok", what: `OpenCode ${version}, the tested version (${binary})` }];
  return [
    {
      check,
      level: "note",
      what: `OpenCode ${version}; tested is ${TESTED_OPENCODE_VERSION} (${binary})`,
      advice: "If the self-test passes, all is well.",
    },
  ];
}

const VERSION_MS = 60_000;

/** Finds a program as a shell does. */
async function findProgram(name: string, path: string): Promise<string | undefined> {
  const endings = process.platform === "win32" ? [".exe", ".cmd", ""] : [""];
  const folders = /[/\\]/.test(name) ? [process.cwd()] : path.split(delimiter);
  for (const folder of folders) {
    for (const ending of endings) {
      const file = isAbsolute(name) ? `${name}${ending}` : join(folder, `${name}${ending}`);
      const isThere = await access(file, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (isThere) return file;
    }
  }
  return undefined;
}

/** Tests the plugin of `--plugin`, else the configured one if it is a file, else the one of this package. */
async function selfTest({ binary, plugin, configuration }: SelfTestChoice): Promise<Finding[]> {
  const configured = configuration.plugins.find(isCarryover)?.spec;
  const chosen = plugin ?? (configured !== undefined && isLocal(configured) ? configured : undefined);
  if (chosen !== undefined)
    return runSelfTest({ binary, plugin: isAbsolute(chosen) ? pathToFileURL(chosen).href : chosen });
  const own = fileURLToPath(new URL("./server.js", import.meta.url));
  // Copied to a folder of its own: beside a package.json OpenCode would load what that names.
  const folder = await mkdtemp(join(tmpdir(), "carryover-plugin-"));
  const copy = join(folder, "carryover.mjs");
  try {
    await copyFile(own, copy);
    return await runSelfTest({ binary, plugin: pathToFileURL(copy).href });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).path !== own) throw error;
    const what = `the plugin is not beside this program (${own})`;
    const advice = "Install the package again, or name the plugin with --plugin.";
    return [{ check: "self-test", level: "problem", what, advice }];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface SelfTestChoice {
  readonly binary: string;
  readonly plugin: string | undefined;
  readonly configuration: HostConfiguration;
}

function isLocal(spec: string): boolean {
  return spec.startsWith("file:") || isAbsolute(spec);
}
