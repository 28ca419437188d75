import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { NOTICES_FILE } from "../../hosts/opencode2/notices.ts";
import { LOADED_FILE } from "../../plugin/loaded-notice.ts";
import {
  CHILD_SESSIONS,
  CLEANED_FILE,
  LOG_FILE,
  RESTORE_FILE,
  WAITING_FOLDER,
} from "../../plugin/stores/folders.ts";
import { type FileStat, nodeFileSystem } from "../../stores/files/file-system.ts";
import { defaultStateFolder } from "../../stores/files/state-folder.ts";
import { defaultEvalCacheFolder } from "../eval/run-eval.ts";
import type { InventoryFile } from "./plan.ts";

/** A folder of ours, and what in it is ours by its path from it; everything else is somebody else's. */
interface OwnRoot {
  readonly folder: string;
  readonly folders: RegExp;
  readonly files: Readonly<Partial<Record<FileKind, RegExp>>>;
}

/** The plugin's folder, and, unless that was named, those of the library and of measures. */
export function ownRoots(folder: string, places: "usual" | "named"): readonly OwnRoot[] {
  const plugin = { folder, folders: FOLDERS, files: FILES };
  if (places === "named") return [plugin];
  const { output, unfinished } = FILES;
  return [
    plugin,
    { folder: defaultStateFolder(), folders: /^(?:outputs|spill)(?:\/..)?$/, files: { output, unfinished } },
    {
      folder: dirname(defaultEvalCacheFolder(process.env)),
      folders: /^eval(?:\/suite)?$/,
      files: { single: MEASURES },
    },
  ];
}

const RECORDS = "forks/[^/]+|control/(?:instances|requests)";
// `spill` and `views` are what builds before 0.1.0 called the first two: nothing reads them, and they hold private text.
const STORES = "outputs|spill|inherited|views|journal/long";
const FOLDERS = new RegExp(
  `^(?:forks|control|journal|${RECORDS}|(?:${STORES})(?:/[0-9a-f]{2})?|${CHILD_SESSIONS}|${WAITING_FOLDER}(?:/[^/]+)?)$`,
);
const MARKS = [LOADED_FILE, LOG_FILE, `${LOG_FILE}.old`, RESTORE_FILE, CLEANED_FILE];
const MEASURES = /^eval\/(?:[0-9a-f]{64}\.json|suite\/[0-9a-f]{64}\.session)$/;
const FILES: Readonly<Record<FileKind, RegExp>> = {
  output: /^(?:outputs|spill)\/[0-9a-f]{2}\/[0-9a-f]{64}$/,
  inherited: /^(?:inherited|views)\/[0-9a-f]{2}\/[0-9a-f]{64}$/,
  long: /^journal\/long\/[0-9a-f]{2}\/[0-9a-f]{64}$/,
  log: /^journal\/[^/]+\.\d+-\d+-\d+\.jsonl$/,
  record: new RegExp(`^(?:${RECORDS})/@?[A-Za-z0-9_-]+\\.json(?:\\.bak|\\.corrupt-[0-9]+)?$`),
  childSession: new RegExp(`^${CHILD_SESSIONS}/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.jsonl$`),
  passing: new RegExp(`^${WAITING_FOLDER}/[^/]+/[^/]+$`),
  unfinished: new RegExp(
    `^(?:${RECORDS}|${STORES}|journal)/(?:\\.\\d+-[0-9a-f]{16}\\.tmp|[^/]*\\.lock(?:\\.break)?)$`,
  ),
  single: new RegExp(
    `${NOTICES_FILE.source}|^(?:${MARKS.map((name) => name.replaceAll(".", "\\.")).join("|")})$`,
  ),
};

/** `passing`: what processes leave to each other. `unfinished`: what a program was writing when it was killed. */
export type FileKind =
  | ("output" | "inherited" | "long" | "log" | "record" | "childSession")
  | ("passing" | "unfinished" | "single");

export interface OwnFile extends InventoryFile {
  readonly kind: FileKind;
}

/** Everything of ours below a root, and its folders, inner ones last. Neither links nor folders of others are entered. */
export async function findOwn({ folder: root, folders: own, files: kinds }: OwnRoot): Promise<Own> {
  const patterns = Object.entries(kinds) as readonly (readonly [FileKind, RegExp])[];
  const files: OwnFile[] = [];
  const folders: string[] = [];
  if (isRealFolder(root)) await enter("");
  return { files, folders };

  async function enter(below: string): Promise<void> {
    for (const name of await readdir(join(root, below)).catch(() => [])) {
      const inner = `${below}${name}`;
      const path = join(root, inner);
      const stat = statOf(path);
      if (stat?.type === "folder" && own.test(inner)) {
        folders.push(path);
        await enter(`${inner}/`);
      }
      const [kind] = patterns.find(([, pattern]) => pattern.test(inner)) ?? [];
      if (stat?.type === "file" && kind !== undefined)
        files.push({ path, sizeBytes: stat.sizeBytes, usedAtMs: stat.modifiedMs, kind });
    }
  }
}

interface Own {
  readonly files: readonly OwnFile[];
  readonly folders: readonly string[];
}

/** The outputs in one store, which are named by the hash of their content. */
export async function handlesIn(store: string): Promise<readonly string[]> {
  const files = { output: /^..\/[0-9a-f]{64}$/ };
  const found = await findOwn({ folder: store, folders: /^[0-9a-f]{2}$/, files });
  return found.files.map(({ path }) => basename(path));
}

/** True for a folder that exists and is no link. */
export function isRealFolder(path: string): boolean {
  return statOf(path)?.type === "folder";
}

/** Undefined for one that was removed in the meantime. */
function statOf(path: string): FileStat | undefined {
  try {
    return nodeFileSystem.lstat(path);
  } catch {
    return undefined;
  }
}
