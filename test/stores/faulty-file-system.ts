import { type FileSystem, nodeFileSystem } from "../../src/stores/files/file-system.ts";

/** The real file system, but for the calls that `fails` picks (counted from 1), which throw this code; nothing waits for a disk. */
export function createFaultyFileSystem({ code, fails }: Faults): FaultyFileSystem {
  let count = 0;
  const failed: string[] = [];
  const counted = <Call extends (...args: never[]) => unknown>(name: string, call: Call): Call =>
    ((...args: Parameters<Call>) => {
      count += 1;
      if (!fails(count)) return call(...args);
      failed.push(name);
      const error = Object.assign(new Error(`${code}: injected, ${name}`), { code });
      if (name === "fsync" || name === "remove") return Promise.reject(error);
      // A real close frees the number even when it reports an error.
      if (name === "close") call(...args);
      throw error;
    }) as Call;
  const fs: FileSystem = {
    open: counted("open", nodeFileSystem.open),
    read: counted("read", nodeFileSystem.read),
    write: counted("write", nodeFileSystem.write),
    fstat: counted("fstat", nodeFileSystem.fstat),
    fsync: counted("fsync", async () => {}),
    close: counted("close", nodeFileSystem.close),
    lstat: counted("lstat", nodeFileSystem.lstat),
    realpath: counted("realpath", nodeFileSystem.realpath),
    readdir: counted("readdir", nodeFileSystem.readdir),
    mkdir: counted("mkdir", nodeFileSystem.mkdir),
    chmod: counted("chmod", nodeFileSystem.chmod),
    link: counted("link", nodeFileSystem.link),
    rename: counted("rename", nodeFileSystem.rename),
    unlink: counted("unlink", nodeFileSystem.unlink),
    remove: counted("remove", nodeFileSystem.remove),
    touch: counted("touch", nodeFileSystem.touch),
  };
  return { fs, failed };
}

export interface Faults {
  readonly code: string;
  readonly fails: (count: number) => boolean;
}

export interface FaultyFileSystem {
  readonly fs: FileSystem;
  /** The names of the calls that were made to fail. */
  readonly failed: readonly string[];
}
