import { execFile } from "node:child_process";
import { join } from "node:path";
import { type PluginEntry, readPluginJournal } from "../../../src/plugin/stores/journal.ts";
import { asObject } from "../../../src/text/unknown-value.ts";
import { buildCli } from "../../rig/build-cli.ts";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import { call, type Step, say } from "../../rig/model-server/step.ts";
import type { HostRig } from "../harness/host-rig.ts";
import type { Rig } from "../harness/rig.ts";

/** A script of the project that prints a long report, about 7,000 tokens, under the name that it is given. */
export const REPORT_FILES: Readonly<Record<string, string>> = {
  "make.sh":
    'i=0; echo "$1"; while [ $i -lt 700 ]; do echo "$1 line $i of a long report"; i=$((i+1)); done\n',
};

/** Steps that make the named reports, and an end. */
export function makeReports(names: readonly string[]): readonly Step[] {
  return [
    ...names.map((name) => call("bash", { command: `sh make.sh ${name}`, description: "Make a report" })),
    say("Made."),
  ];
}

/** A prompt of about 5,000 tokens: what can be cleared is looked for again when the window has grown. */
export function longPrompt(text: string): string {
  return `${text} ${"And some more words to think about. ".repeat(600)}`;
}

/** The handles that stand in a request where outputs were shortened or left out. */
export function handlesIn(request: ModelRequest | undefined): readonly string[] {
  const text = JSON.stringify(request?.body ?? {});
  return [...text.matchAll(/\[(?:whole result|\d+ calls? left out here, whole): ([^\]]+)\]/g)].map(
    ([, handle = ""]) => handle,
  );
}

/** The messages of a request without the system's. */
export function messagesOf(request: ModelRequest | undefined): readonly unknown[] {
  const messages = (asObject(request?.body).messages ?? []) as readonly { readonly role: string }[];
  return messages.filter(({ role }) => role !== "system");
}

/** The lines that tell people what was pruned in a session. */
export async function prunedLinesOf(rig: Rig, sessionId: string): Promise<readonly string[]> {
  const parts = (await rig.opencode.messages(sessionId)).flatMap((message) => message.parts);
  return parts
    .filter(({ metadata }) => String(asObject(asObject(metadata).carryover).shown).startsWith("pruned "))
    .map(({ text }) => String(text).trim());
}

/** What the plugin wrote down about a session. */
export async function journalOf(rig: HostRig, rootSessionId: string): Promise<readonly PluginEntry[]> {
  const folder = join(rig.sandbox.home, ".local", "share", "carryover", "journal");
  const { entries, problems } = await readPluginJournal({ folder, rootSessionId });
  const lost = problems.filter(({ type }) => type !== "torn-tail");
  if (lost.length > 0) throw new Error(`The journal is damaged: ${JSON.stringify(lost)}`);
  return entries;
}

/** Runs the command line as another process of the same user, in the project. */
export async function runCarryover(
  rig: Pick<Rig, "sandbox">,
  ...args: readonly string[]
): Promise<CommandEnd> {
  const cli = await buildCli();
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [cli, ...args],
      { cwd: rig.sandbox.project, env: rig.sandbox.env },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

export interface CommandEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
