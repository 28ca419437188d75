import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { jsonOrText } from "../text/json.ts";
import { asNumber, asObject, asString } from "../text/unknown-value.ts";
import type { Feature, PluginContext } from "./context/context.ts";

/** The version of this package; a test compares it with package.json, which does not lie beside every copy of the plugin. */
export const VERSION = "0.1.0";

/**
 * Says that the plugin runs: in the log at every start, and to a person once for each version, with the first message
 * that they write. At the start itself the screen may not listen yet, and a toast at every start would be noise.
 */
export function createLoadedNotice({ host, notify, folders, now }: PluginContext): Feature {
  let isAsked = host.attendance === "headless";
  const note = { version: VERSION, atMs: now(), directory: host.directory };
  const announce = async (): Promise<void> => {
    if ((await readLoadedNote(folders.root))?.toldVersion === VERSION) return;
    // A notice that cannot be recorded as shown is not shown: it would come back at every start.
    if (!(await write({ ...note, toldVersion: VERSION }))) return;
    notify.toastOnce(
      `Carryover ${VERSION} is loaded. /subtask <task> starts an agent that knows this conversation.`,
      "info",
    );
  };
  const write = async (value: LoadedNote): Promise<boolean> => {
    try {
      await mkdir(folders.root, { recursive: true, mode: 0o700 });
      await writeFile(fileIn(folders.root), JSON.stringify(value), { mode: 0o600 });
      return true;
    } catch {
      return false;
    }
  };
  return {
    name: "loaded",
    async onSignal(signal) {
      if (signal.type !== "ready") return;
      notify.log("info", `Carryover ${VERSION} is loaded`, { store: folders.root });
      const { toldVersion } = (await readLoadedNote(folders.root)) ?? {};
      await write({ ...note, ...(toldVersion !== undefined && { toldVersion }) });
    },
    async onUserMessage({ from }) {
      if (isAsked || from !== "user") return undefined;
      isAsked = true;
      void announce();
      return undefined;
    },
  };
}

/** When the plugin ran last on this machine, and as which version; undefined where it never did. */
export async function readLoadedNote(root: string): Promise<LoadedNote | undefined> {
  const text = await readFile(fileIn(root), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const { version, atMs, directory, toldVersion } = asObject(jsonOrText(text));
  const announced = asString(toldVersion);
  return {
    version: asString(version) ?? "unknown",
    atMs: asNumber(atMs) ?? 0,
    directory: asString(directory) ?? "",
    ...(announced !== undefined && { toldVersion: announced }),
  };
}

interface LoadedNote {
  readonly version: string;
  readonly atMs: number;
  /** The folder that the agent worked in. */
  readonly directory: string;
  /** The version of which a person has been told. */
  readonly toldVersion?: string;
}

/** Where it is noted, in the plugin's folder. */
export const LOADED_FILE = "loaded.json";

const fileIn = (root: string): string => join(root, LOADED_FILE);
