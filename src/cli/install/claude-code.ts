import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { applyEdits, modify, parse } from "jsonc-parser";
import { asObject, deepEqual } from "../../text/json.ts";
import { rewriteSettings } from "./plugin-folder.ts";
import type { HookProgram, InstallPlace } from "./run-program.ts";

/** Claude Code: a marketplace of one folder, which it runs in place. */
export const CLAUDE_CODE: HookProgram = {
  name: "claude-code",
  title: "Claude Code",
  command: "claude",
  variable: "CLAUDE_BIN",
  addVerb: "install",
  removeVerb: "uninstall",
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
    const kept = what === "install" ? withOurs(before, place) : withoutOurs(before);
    // It writes the whole file anew, in an order of its own: put back only where nothing else has changed.
    if (after !== undefined && after !== kept && isSame(after, kept)) await rewriteSettings(file, kept);
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

function configFolder({ env }: InstallPlace): string {
  return env.CLAUDE_CONFIG_DIR || join(env.HOME || homedir(), ".claude");
}

function settingsFile(place: InstallPlace): string {
  return join(configFolder(place), "settings.json");
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

/** The user's text without them, and without what only held them. */
export function withoutOurs(text: string): string {
  return OURS.toReversed().reduce((edited, [group, name]) => {
    const held = asObject(asObject(parse(edited))[group]);
    if (!(name in held)) return edited;
    const path = Object.keys(held).length === 1 ? [group] : [group, name];
    return applyEdits(edited, modify(edited, path, undefined, {}));
  }, text);
}

/** Empty groups are what it leaves behind. */
function isSame(one: string, other: string): boolean {
  return deepEqual(withoutEmpty(parse(one)), withoutEmpty(parse(other)));
}

function withoutEmpty(settings: unknown): unknown {
  const groups = new Set<string>(OURS.map(([group]) => group));
  const isEmpty = ([key, value]: [string, unknown]): boolean =>
    groups.has(key) && Object.keys(asObject(value)).length === 0;
  return Object.fromEntries(Object.entries(asObject(settings)).filter((entry) => !isEmpty(entry)));
}
