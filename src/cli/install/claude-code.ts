import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { applyEdits, modify, type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { agentHome } from "../../agents/places.ts";
import { deepEqual } from "../../text/deep-equal.ts";
import { jsonOrText } from "../../text/json.ts";
import { asObject, isObject } from "../../text/unknown-value.ts";
import { withoutMark } from "../files/text-encoding.ts";
import type { HookProgram, InstallPlace } from "./hook-program.ts";
import { rewriteSettings } from "./plugin-folder.ts";

/** Claude Code: a marketplace of one folder, which it runs in place. */
export const CLAUDE_CODE: HookProgram = {
  name: "claude-code",
  title: "Claude Code",
  command: "claude",
  variable: "CLAUDE_BIN",
  testedVersion: "2.1.325",
  addVerb: "install",
  removeVerb: "uninstall",
  updateVerb: "update",
  settings: (env) => settingsFile({ env }),
  settingsVariable: "CLAUDE_CONFIG_DIR",
  async prepare({ env }) {
    const { file, list } = await readUnstarted(env);
    if (!(OUR_SERVER in list)) return;
    const { [OUR_SERVER]: _, ...rest } = list;
    await rewriteSettings(file, JSON.stringify(rest));
  },
  async fault(env) {
    const file = settingsFile({ env });
    return settingsFault(file, await readFile(file, "utf8").catch(() => ""));
  },
  written: (place) => [
    `which adds to ${settingsFile(place)}`,
    ...OURS.map(
      (path) =>
        `  ${path.map((key) => JSON.stringify(key)).join(".")}: ${JSON.stringify(valueAt(path, place))}`,
    ),
    `and to installed_plugins.json and known_marketplaces.json in ${join(configFolder(place), "plugins")}`,
  ],
  async keepSettings(place, what, run) {
    const file = settingsFile(place);
    const before = await readFile(file, "utf8").catch(() => undefined);
    await run();
    if (before === undefined) return;
    const after = await readFile(file, "utf8").catch(() => undefined);
    if (after === undefined || !isObject(parse(before)) || !isObject(parse(after))) return;
    // It writes the whole file anew, in an order of its own.
    const kept = withChangesOf(after, what === "install" ? withOurs(before, place) : withoutOurs(before));
    if (after !== kept) await rewriteSettings(file, kept);
  },
  statusLine: {
    written: (place) => [
      `Sets the status line in ${settingsFile(place)}, unless you have one`,
      `  "statusLine": ${JSON.stringify(statusLine(place))}`,
    ],
    async write(place) {
      const file = settingsFile(place);
      const text = await readFile(file, "utf8").catch(() => "{}\n");
      const changed = withStatusLine(text, place);
      if (changed === undefined) return "theirs";
      if (changed !== text) await rewriteSettings(file, changed);
      return "set";
    },
    async remove(place) {
      const file = settingsFile(place);
      const text = await readFile(file, "utf8").catch(() => undefined);
      if (text === undefined) return;
      const without = withoutStatusLine(text, place);
      if (without !== text) await rewriteSettings(file, without);
    },
  },
  next: () => [
    "Carryover is in Claude Code from its next session on (in an open one: /reload-plugins).",
    "Try /carryover:context there.",
  ],
};

const OURS = [
  ["extraKnownMarketplaces", "carryover"],
  ["enabledPlugins", "carryover@carryover"],
] as const;

function valueAt([group]: readonly string[], { folder }: InstallPlace): unknown {
  return group === "enabledPlugins" ? true : { source: { source: "directory", path: folder } };
}

/** The folder of its settings. */
export function configFolder({ env }: Pick<InstallPlace, "env">): string {
  return agentHome("claude-code", env);
}

function settingsFile(place: Pick<InstallPlace, "env">): string {
  return join(configFolder(place), "settings.json");
}

const OUR_SERVER = "plugin:carryover:carryover";

/** The servers that Claude Code no longer starts: one start without `node` on the PATH is enough. */
async function readUnstarted(env: InstallPlace["env"]) {
  const file = join(configFolder({ env }), "mcp-needs-auth-cache.json");
  return { file, list: asObject(jsonOrText(await readFile(file, "utf8").catch(() => ""))) };
}

/** The file that keeps Claude Code from starting our server; undefined where it does start it. */
export async function unstartedIn(env: InstallPlace["env"]): Promise<string | undefined> {
  const { file, list } = await readUnstarted(env);
  return OUR_SERVER in list ? file : undefined;
}

/** Why Claude Code passes over a file of settings, and what to do; undefined where it reads it. */
export function settingsFault(file: string, text: string): { what: string; advice: string } | undefined {
  const json = withoutMark(text);
  if (json.trim() === "" || isObject(jsonOrText(json))) return undefined;
  const errors: ParseError[] = [];
  parse(json, errors, { disallowComments: true });
  const [{ error, offset } = { error: 0, offset: 0 }] = errors;
  const line = json.slice(0, offset).split("\n").length;
  const isComment = printParseErrorCode(error) === "InvalidCommentToken";
  const why = errors.length === 0 ? "no object in braces" : isComment ? "a comment" : "not as JSON has it";
  return {
    what: `${file} is not JSON (line ${line}: ${why}): Claude Code passes over all of it`,
    advice: `${isComment ? "Take its comments out" : `Correct line ${line}`}, then run this again.`,
  };
}

/** The user's text with our entries in it, each on a line of its own; nothing else is formatted. */
export function withOurs(text: string, place: Pick<InstallPlace, "folder">): string {
  return OURS.reduce((edited, path) => {
    const value = valueAt(path, place as InstallPlace);
    if (deepEqual(asObject(asObject(parse(edited))[path[0]])[path[1]], value)) return edited;
    const edits = modify(edited, [...path], value, {});
    return applyEdits(
      edited,
      edits.map((edit) => ({ ...edit, content: edit.content.replace(/^,/, ",\n  ") })),
    );
  }, text);
}

function statusLine({ folder }: Pick<InstallPlace, "folder">): object {
  return { type: "command", command: `node "${folder}/carryover/report.js" status claude-code` };
}

/** The user's text with our status line; undefined where the user has another. */
export function withStatusLine(text: string, place: Pick<InstallPlace, "folder">): string | undefined {
  const { statusLine: known } = asObject(parse(text));
  if (known !== undefined) return deepEqual(known, statusLine(place)) ? text : undefined;
  const edits = modify(text, ["statusLine"], statusLine(place), {});
  return applyEdits(
    text,
    edits.map((edit) => ({ ...edit, content: edit.content.replace(/^,/, ",\n  ") })),
  );
}

export function withoutStatusLine(text: string, place: Pick<InstallPlace, "folder">): string {
  const { statusLine: known } = asObject(parse(text));
  if (!deepEqual(known, statusLine(place))) return text;
  return applyEdits(text, modify(text, ["statusLine"], undefined, {}));
}

/** The user's text without them, and without what only held them. */
export function withoutOurs(text: string): string {
  return OURS.toReversed().reduce((edited, [group, name]) => {
    const held = asObject(asObject(parse(edited))[group]);
    if (!(name in held)) return edited;
    const path = Object.keys(held).length === 1 ? [group] : [group, name];
    return applyEdits(edited, modify(edited, path, undefined, {}));
  }, text);
}

/** The user's text with what else has changed meanwhile, and as it was everywhere else. */
function withChangesOf(after: string, text: string): string {
  const [now, was] = [asObject(parse(after)), asObject(parse(text))];
  const keys = [...new Set([...Object.keys(was), ...Object.keys(now)])];
  return keys
    .filter((key) => !deepEqual(now[key], was[key]) && !(isEmpty(now[key]) && isEmpty(was[key])))
    .reduce((edited, key) => applyEdits(edited, modify(edited, [key], now[key], {})), text);
}

/** Groups without content are what Claude Code leaves behind, or takes out. */
function isEmpty(value: unknown): boolean {
  return (
    value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0)
  );
}
