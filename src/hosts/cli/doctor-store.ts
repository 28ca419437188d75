import { lstat, mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PluginFolders } from "../opencode/plugin-folder.ts";
import { readForks } from "../opencode/recorded-forks.ts";
import { listPluginJournals, readPluginJournal } from "../opencode/window/read-plugin-journal.ts";
import type { Finding } from "./doctor-finding.ts";

/** Whether the plugin can keep its records, whether only this user can read them, and whether they are whole. */
export async function checkStore(folders: PluginFolders): Promise<Finding[]> {
  const { root } = folders;
  const check = "store";
  const stat = await lstat(root).catch(() => undefined);
  if (stat === undefined) {
    const parent = await nearestParent(root);
    const reason = await whyNotWritable(parent);
    return reason === undefined
      ? [{ check, level: "ok", what: `${root} does not exist yet and can be made` }]
      : [unwritable(parent, reason)];
  }
  if (!stat.isDirectory())
    return [
      {
        check,
        level: "problem",
        what: `${root} is not a folder of its own (a link, perhaps)`,
        advice: "Remove it, or name another folder with the option `store`.",
      },
    ];
  const reason = await whyNotWritable(root);
  if (reason !== undefined) return [unwritable(root, reason)];
  const isOpen = process.getuid !== undefined && (stat.mode & 0o077) !== 0;
  return [
    isOpen
      ? {
          check,
          level: "note",
          what: `${root} can be read by other users; what is kept in it cannot`,
          advice: `chmod 700 ${root}`,
        }
      : { check, level: "ok", what: `${root} can be written, and only by this user` },
    ...(await checkRecords(folders)),
  ];
}

async function checkRecords(folders: PluginFolders): Promise<Finding[]> {
  const { records, problems } = await readForks(folders);
  const [newest] = await listPluginJournals(folders.journal);
  const journal =
    newest === undefined
      ? undefined
      : await readPluginJournal({ folder: folders.journal, rootSessionId: newest.rootSessionId });
  const damaged = [
    ...problems,
    ...(journal?.problems ?? [])
      // The last line of a program that was ended may be half a line; nothing is lost by it.
      .filter(({ type }) => type !== "torn-tail")
      .map(({ place, reason }) => `${place}: ${reason}`),
  ];
  const check = "records";
  if (damaged.length === 0)
    return [{ check, level: "ok", what: `${records.length} forks are recorded, and all records are whole` }];
  return damaged.map((what) => ({
    check,
    level: "problem",
    what: `a record is damaged: ${what}`,
    advice:
      "It was set aside and is not used; remove the folder's *.corrupt-* files when you no longer need them.",
  }));
}

function unwritable(folder: string, reason: string): Finding {
  return {
    check: "store",
    level: "problem",
    what: `${folder} cannot be written: ${reason}`,
    advice: "Give this user the right to write there, or name another folder with the option `store`.",
  };
}

async function nearestParent(path: string): Promise<string> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const isThere = await lstat(folder).then(
      () => true,
      () => false,
    );
    if (isThere || folder === dirname(folder)) return folder;
  }
}

async function whyNotWritable(folder: string): Promise<string | undefined> {
  try {
    await rm(await mkdtemp(join(folder, ".carryover-doctor-")), { recursive: true });
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}
