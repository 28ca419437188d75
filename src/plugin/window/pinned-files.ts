import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import picomatch from "picomatch";

/** The files of a project that the patterns name, with their content; bounded in number and size. */
export async function readPinnedFiles(
  directory: string,
  globs: readonly string[],
): Promise<readonly PinnedFile[]> {
  if (globs.length === 0) return [];
  const isPinned = pathMatcher(globs);
  const files: PinnedFile[] = [];
  const folders = [directory];
  let seen = 0;
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (++seen > MAX_ENTRIES || files.length >= MAX_FILES) return files;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (!SKIPPED.has(entry.name)) folders.push(path);
        continue;
      }
      const name = relative(directory, path).replaceAll("\\", "/");
      if (!entry.isFile() || !isPinned(name)) continue;
      const content = await readSmall(path);
      if (content !== undefined) files.push({ name, content });
    }
  }
  return files;
}

interface PinnedFile {
  /** Its path within the project. */
  readonly name: string;
  readonly content: string;
}

const MAX_ENTRIES = 20_000;
const MAX_FILES = 20;
const MAX_FILE_BYTES = 32 * 1024;
const SKIPPED: ReadonlySet<string> = new Set([".git", "node_modules", "dist", "build", "target", ".venv"]);

async function readSmall(path: string): Promise<string | undefined> {
  try {
    return (await stat(path)).size > MAX_FILE_BYTES ? undefined : await readFile(path, "utf8");
  } catch {
    return undefined;
  }
}

/** True for a pin that names files: it has no space, and a star, a slash or an ending. */
export function isGlob(pin: string): boolean {
  return !/\s/.test(pin) && /[*/]|\.[A-Za-z0-9]{1,8}$/.test(pin);
}

/** True for a path, absolute or not, whose end one of the patterns names. Parentheses stand for themselves, as in names of folders. */
export function pathMatcher(globs: readonly string[]): (path: string) => boolean {
  const patterns = globs.map((glob) => `**/${glob.replace(/^\.?\//, "").replace(/[()]/g, "\\$&")}`);
  const matches = picomatch(patterns, { dot: true });
  return (path) => path !== "" && matches(path);
}
