import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fields, stringField } from "../../formats/fields.ts";
import { createFileRecordStore } from "../../stores/files/file-record-store.ts";
import type { ForkRecord } from "../../tasks/fork-record.ts";
import { readForkRecord } from "../../tasks/read-fork-record.ts";
import type { RecordStore } from "../../tasks/record-store.ts";
import { type PluginFolders, pluginFolders } from "../opencode/plugin-folder.ts";
import { isDatabase } from "../opencode/plugin-stores.ts";
import { isCarryover, readHostConfiguration } from "./doctor-config.ts";

/** The folders of the plugin: those of `--store`, else those that OpenCode's configuration for this folder names, else the default. */
export async function findPluginFolders(store: string | undefined): Promise<PluginFolders> {
  const named = await findStoreOption(store);
  // The address of a database is no path, and its password must not get into one.
  return pluginFolders({
    store: named === undefined || isDatabase(named) ? undefined : named,
    env: process.env,
  });
}

/** Where the plugin was told to keep things: `--store`, else the option in OpenCode's configuration for this folder. */
export async function findStoreOption(store: string | undefined): Promise<string | undefined> {
  if (store !== undefined) return store;
  const { plugins } = await readHostConfiguration({ directory: process.cwd(), env: process.env });
  return stringField(fields(plugins.find(isCarryover)?.options).store);
}

/** Every fork that is recorded in files, of all projects, newest first, and what could not be read. */
export async function readForks({ forks }: Pick<PluginFolders, "forks">): Promise<RecordedForks> {
  const projects = await readdir(forks).catch(() => []);
  return readForksIn(
    projects.map((project) => {
      const place = join(forks, project);
      return { place, records: createFileRecordStore({ root: place, durable: false }) };
    }),
  );
}

/** Every fork that is recorded in these stores, newest first, and what could not be read. */
export async function readForksIn(stores: readonly ForkPlace[]): Promise<RecordedForks> {
  const records: ForkRecord[] = [];
  const problems: string[] = [];
  for (const store of stores) {
    const listed = await store.records.list();
    if (listed.status === "failed") {
      problems.push(`${store.place}: ${listed.reason}`);
      continue;
    }
    for (const { value } of listed.records) {
      const record = readForkRecord(value);
      if (record !== undefined) records.push(record);
    }
    for (const { id, place, reason } of listed.problems) problems.push(`${id ?? place}: ${reason}`);
  }
  return { records: records.sort((left, right) => queuedAt(right) - queuedAt(left)), problems };
}

export interface ForkPlace {
  /** For a person to read. */
  readonly place: string;
  readonly records: RecordStore;
}

export interface RecordedForks {
  readonly records: readonly ForkRecord[];
  readonly problems: readonly string[];
}

function queuedAt({ runs }: ForkRecord): number {
  return Math.max(0, ...runs.map(({ queuedAtMs }) => queuedAtMs));
}
