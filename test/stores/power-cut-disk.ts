import type { FileStat, FileSystem } from "../../src/stores/files/file-system.ts";

/**
 * A disk in memory of which a power cut leaves only what was flushed: the bytes of a file by an fsync of the file, its name by
 * one of its folder. Of everything else any part may be there as well, since real disks write in an order of their own.
 */
export function createPowerCutDisk(base: string): PowerCutDisk {
  const root = folderNode();
  for (let folder = root, names = base.split("/").filter(Boolean); names.length > 0; ) {
    const made = folderNode();
    const name = names.shift() ?? "";
    folder.entries.set(name, made);
    folder.flushed.set(name, made);
    folder = made;
  }
  return openDisk(root);
}

export interface PowerCutDisk {
  /** The calls of one program; after `callsUntilKill` calls it is gone, and what it has written stays. */
  program(callsUntilKill?: number): FileSystem;
  /** Is told before each call of any program. */
  onCall: () => void;
  /** What the disk may hold after a cut at this moment; `chance` gives numbers from 0 to 1. */
  afterCut(chance: () => number): PowerCutDisk;
}

interface FileNode {
  readonly type: "file";
  bytes: Buffer;
  flushed: Buffer;
  modifiedMs: number;
}

interface FolderNode {
  readonly type: "folder";
  readonly entries: Map<string, Node>;
  readonly flushed: Map<string, Node>;
  /** What changed since the last flush. */
  changes: Change[];
  mode: number;
}

type Node = FileNode | FolderNode;

/** A name that was given, taken away, or both at once: a rename within a folder. */
interface Change {
  readonly remove?: string;
  readonly add?: readonly [name: string, node: Node];
}

function folderNode(): FolderNode {
  return { type: "folder", entries: new Map(), flushed: new Map(), changes: [], mode: 0o700 };
}

function openDisk(root: FolderNode): PowerCutDisk {
  const disk: PowerCutDisk = {
    program: (callsUntilKill = Number.POSITIVE_INFINITY) => createProgram({ root, disk, callsUntilKill }),
    onCall: () => {},
    afterCut: (chance) => openDisk(surviving(root, { chance, seen: new Map() }) as FolderNode),
  };
  return disk;
}

function createProgram({ root, disk, callsUntilKill }: ProgramPlace): FileSystem {
  const open = new Map<number, { readonly node: Node; position: number }>();
  let calls = 0;
  let nextFd = 100;
  const begin = (): void => {
    calls += 1;
    if (calls > callsUntilKill) throw coded("KILLED", "this program is gone");
    disk.onCall();
  };
  const nodeAt = (path: string): Node => {
    let node: Node = root;
    for (const name of path.split("/").filter(Boolean)) {
      if (node.type !== "folder") throw coded("ENOTDIR", path);
      const next = node.entries.get(name);
      if (next === undefined) throw coded("ENOENT", path);
      node = next;
    }
    return node;
  };
  const parentOf = (path: string): readonly [FolderNode, string] => {
    const at = path.lastIndexOf("/");
    const parent = nodeAt(path.slice(0, at));
    if (parent.type !== "folder") throw coded("ENOTDIR", path);
    return [parent, path.slice(at + 1)];
  };
  const change = (folder: FolderNode, made: Change): void => {
    apply(folder.entries, made);
    folder.changes.push(made);
  };
  const opened = (fd: number) => open.get(fd) ?? fail("EBADF", `${fd}`);
  const file = (fd: number): FileNode => {
    const { node } = opened(fd);
    return node.type === "file" ? node : fail("EISDIR", `${fd}`);
  };
  const calling =
    <Args extends readonly unknown[], Result>(call: (...args: Args) => Result) =>
    (...args: Args): Result => {
      begin();
      return call(...args);
    };
  return {
    open: calling((path, purpose) => {
      const [parent, name] = parentOf(path);
      if (purpose === "create") {
        if (parent.entries.has(name)) throw coded("EEXIST", path);
        const made: FileNode = { type: "file", bytes: EMPTY, flushed: EMPTY, modifiedMs: Date.now() };
        change(parent, { add: [name, made] });
      }
      const node = nodeAt(path);
      if (purpose === "append" && node.type === "folder") throw coded("EISDIR", path);
      nextFd += 1;
      open.set(nextFd, { node, position: 0 });
      return nextFd;
    }),
    read: calling((fd, into, position) => {
      const place = opened(fd);
      const from = position ?? place.position;
      const count = file(fd).bytes.copy(into, 0, from, from + into.byteLength);
      if (position === undefined) place.position += count;
      return count;
    }),
    write: calling((fd, bytes) => {
      const node = file(fd);
      node.bytes = Buffer.concat([node.bytes, bytes]);
      node.modifiedMs = Date.now();
      return bytes.byteLength;
    }),
    fstat: calling((fd) => statOf(opened(fd).node)),
    async fsync(fd) {
      begin();
      const { node } = opened(fd);
      // Flushed is what was there as it was asked for, and not before the answer.
      if (node.type === "file") {
        const { bytes } = node;
        await nextMoment();
        begin();
        if (bytes.byteLength >= node.flushed.byteLength) node.flushed = bytes;
      } else {
        const asked = new Set(node.changes);
        await nextMoment();
        begin();
        for (const each of node.changes) if (asked.has(each)) apply(node.flushed, each);
        node.changes = node.changes.filter((each) => !asked.has(each));
      }
    },
    close: calling((fd) => {
      open.delete(fd);
    }),
    lstat: calling((path) => statOf(nodeAt(path))),
    realpath: calling((path) => {
      nodeAt(path);
      return path;
    }),
    readdir: calling((path) => {
      const node = nodeAt(path);
      return node.type === "folder" ? [...node.entries.keys()] : fail("ENOTDIR", path);
    }),
    mkdir: calling((path) => {
      let first: string | undefined;
      let folder = root;
      let place = "";
      for (const name of path.split("/").filter(Boolean)) {
        place += `/${name}`;
        if (!folder.entries.has(name)) {
          change(folder, { add: [name, folderNode()] });
          first ??= place;
        }
        const next = folder.entries.get(name);
        if (next?.type !== "folder") throw coded("ENOTDIR", place);
        folder = next;
      }
      return first;
    }),
    chmod: calling((path, mode) => {
      const node = nodeAt(path);
      if (node.type === "folder") node.mode = mode;
    }),
    link: calling((from, to) => {
      const node = nodeAt(from);
      const [parent, name] = parentOf(to);
      if (parent.entries.has(name)) throw coded("EEXIST", to);
      change(parent, { add: [name, node] });
    }),
    rename: calling((from, to) => {
      const node = nodeAt(from);
      const [source, old] = parentOf(from);
      const [target, name] = parentOf(to);
      if (source === target) change(source, { remove: old, add: [name, node] });
      else {
        change(target, { add: [name, node] });
        change(source, { remove: old });
      }
    }),
    unlink: calling((path) => {
      nodeAt(path);
      const [parent, name] = parentOf(path);
      change(parent, { remove: name });
    }),
    async remove(path) {
      begin();
      nodeAt(path);
      const [parent, name] = parentOf(path);
      change(parent, { remove: name });
    },
    touch: calling((path, timeMs) => {
      const node = nodeAt(path);
      if (node.type === "file") node.modifiedMs = timeMs;
    }),
  };
}

interface ProgramPlace {
  readonly root: FolderNode;
  readonly disk: PowerCutDisk;
  readonly callsUntilKill: number;
}

/** A copy of what is flushed, with as much of the rest as `chance` lets through: all, nothing, or some of it. */
function surviving(node: Node, cut: { readonly chance: () => number; readonly seen: Map<Node, Node> }): Node {
  const { chance, seen } = cut;
  const known = seen.get(node);
  if (known !== undefined) return known;
  if (node.type === "file") {
    const bytes = survivingBytes(node, chance);
    const copy: FileNode = { type: "file", bytes, flushed: bytes, modifiedMs: node.modifiedMs };
    seen.set(node, copy);
    return copy;
  }
  const share = shareOf(chance);
  const names = new Map(node.flushed);
  for (const each of node.changes) if (chance() < share) apply(names, each);
  const copy = { ...folderNode(), mode: node.mode };
  seen.set(node, copy);
  for (const [name, entry] of names) {
    const kept = surviving(entry, cut);
    copy.entries.set(name, kept);
    copy.flushed.set(name, kept);
  }
  return copy;
}

function apply(names: Map<string, Node>, { remove, add }: Change): void {
  // The old name may mean another file by now, if what came between did not reach the disk.
  if (remove !== undefined && (add === undefined || names.get(remove) === add[1])) names.delete(remove);
  if (add !== undefined) names.set(...add);
}

/** What was not flushed may be there, be missing, end early, or be zeros. */
function survivingBytes({ bytes, flushed }: FileNode, chance: () => number): Buffer {
  const length =
    flushed.byteLength + Math.floor((bytes.byteLength - flushed.byteLength) * shareOf(chance) * chance() * 2);
  const kept = Buffer.from(bytes.subarray(0, Math.min(length, bytes.byteLength)));
  if (chance() < 0.3) kept.fill(0, flushed.byteLength);
  return kept;
}

function shareOf(chance: () => number): number {
  return [0, 0, 1, chance()][Math.floor(chance() * 4)] ?? 0;
}

function statOf(node: Node): FileStat {
  const uid = process.getuid?.() ?? 0;
  return node.type === "folder"
    ? { type: "folder", sizeBytes: 0, mode: node.mode, uid, modifiedMs: 0 }
    : { type: "file", sizeBytes: node.bytes.byteLength, mode: 0o600, uid, modifiedMs: node.modifiedMs };
}

function coded(code: string, said: string): Error {
  return Object.assign(new Error(`${code}: ${said}`), { code });
}

function fail(code: string, said: string): never {
  throw coded(code, said);
}

const EMPTY: Buffer = Buffer.alloc(0);
const nextMoment = (): Promise<void> => Promise.resolve();
