import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { errorMessage } from "../../text/failure.ts";
import { asObject, asString } from "../../text/unknown-value.ts";
import { writeFileAtomic } from "../files/write-file.ts";
import { CliError } from "../terminal/cli-error.ts";

/**
 * Brings the sessions of a suite into a folder with the user's own git, one shallow fetch a repository and commit. A file
 * counts only when its bytes have the hash of the manifest; what is there from before is not fetched again.
 */
export async function fetchSuite(
  entries: readonly SuiteEntry[],
  folder: string,
  { onFetch }: { readonly onFetch?: (entry: SuiteEntry) => void } = {},
): Promise<readonly SuiteFile[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const fetched: GitPlace["fetched"] = new Map();
  const files: SuiteFile[] = [];
  try {
    for (const entry of entries) {
      onFetch?.(entry);
      files.push(await fetchEntry(entry, { folder, fetched }));
    }
  } finally {
    // The sessions are kept, what they were taken from is not.
    for (const { repo } of entries) await rm(gitFolder(folder, repo), { recursive: true, force: true });
  }
  return files;
}

/** A public session by where it is kept; the manifest of a suite is a list of them, and holds no text of any. */
export interface SuiteEntry {
  /** `owner/name` on GitHub, or what git can fetch from: an address or a folder. */
  readonly repo: string;
  /** A commit, or a ref of the repository where its history may have been cut. */
  readonly commit: string;
  readonly path: string;
  /** Of the bytes of the file. */
  readonly sha256: string;
  readonly licence: string;
}

/** A session of a suite that is on this machine, or why it is not. */
type SuiteFile =
  | { readonly status: "there"; readonly entry: SuiteEntry; readonly file: string }
  | { readonly status: "missing"; readonly entry: SuiteEntry; readonly reason: string };

async function fetchEntry(entry: SuiteEntry, place: GitPlace): Promise<SuiteFile> {
  const file = join(place.folder, `${entry.sha256}.session`);
  if (await isFile(file)) return { status: "there", entry, file };
  try {
    const bytes = await readFromGit(entry, place);
    if (createHash("sha256").update(bytes).digest("hex") !== entry.sha256)
      throw new Error("its bytes are not those that the manifest names");
    await writeFileAtomic(file, bytes);
    return { status: "there", entry, file };
  } catch (error) {
    if (error instanceof CliError) throw error;
    return { status: "missing", entry, reason: errorMessage(error).split("\n")[0] ?? "" };
  }
}

interface GitPlace {
  readonly folder: string;
  /** What was fetched by repository and commit; one that failed says why for each of its sessions. */
  readonly fetched: Map<string, Promise<string>>;
}

async function readFromGit(entry: SuiteEntry, { folder, fetched }: GitPlace): Promise<Buffer> {
  const { repo, commit, path } = entry;
  const key = `${repo}\n${commit}`;
  const git = gitFolder(folder, repo);
  const object = fetched.get(key) ?? fetchCommit(git, entry);
  fetched.set(key, object);
  return runGit(["-C", git, "cat-file", "blob", `${await object}:${path}`]);
}

function gitFolder(folder: string, repo: string): string {
  return join(folder, `${createHash("sha256").update(repo).digest("hex").slice(0, 16)}.git`);
}

/** The name of the object that is there now. */
async function fetchCommit(git: string, { repo, commit }: SuiteEntry): Promise<string> {
  await runGit(["init", "--quiet", "--bare", git]);
  await runGit(["-C", git, "fetch", "--quiet", "--depth", "1", "--no-tags", addressOf(repo), commit]);
  return (await runGit(["-C", git, "rev-parse", "FETCH_HEAD"])).toString("utf8").trim();
}

function addressOf(repo: string): string {
  // Git would look for it from the folder into which it fetches.
  if (/^\.\.?(?:\/|$)/.test(repo)) return resolve(repo);
  return /^[\w.-]+\/[\w.-]+$/.test(repo) ? `https://github.com/${repo}.git` : repo;
}

const MAX_BYTES = 256 * 1024 * 1024;

function runGit(args: readonly string[]): Promise<Buffer> {
  const env = { ...process.env, GIT_TERMINAL_PROMPT: "0" };
  return new Promise((resolve, reject) => {
    execFile("git", [...args], { env, encoding: "buffer", maxBuffer: MAX_BYTES }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else if (error.code === "ENOENT")
        reject(new CliError("git, which fetches the sessions of a suite, is not on the PATH"));
      else reject(new Error(stderr.toString("utf8").trim() || error.message));
    });
  });
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false;
}

/** Where in the cache the sessions of a suite are kept, until `carryover purge`; a fetch that was stopped leaves a `.git`. */
export function suiteFolder(cacheFolder: string): string {
  return join(cacheFolder, "suite");
}

/** Reads the manifest of a suite; throws with the first entry that is not understood. */
export async function readSuite(manifest: string): Promise<readonly SuiteEntry[]> {
  let entries: unknown;
  try {
    entries = JSON.parse(await readFile(manifest, "utf8"));
  } catch (error) {
    throw new CliError(`Cannot read the manifest ${manifest}: ${errorMessage(error)}`, [], { cause: error });
  }
  if (!Array.isArray(entries) || entries.length === 0)
    throw new CliError(`${manifest} is no list of sessions`, [
      'Each is { "repo", "commit", "path", "sha256", "licence" }.',
    ]);
  return entries.map((entry, index) => {
    const { repo, commit, path, sha256, licence } = asObject(entry);
    const read = { repo, commit, path, sha256, licence };
    const missing = Object.entries(read).find(([, value]) => !asString(value))?.[0];
    if (missing !== undefined) throw new CliError(`Entry ${index + 1} of ${manifest} has no ${missing}`);
    if (!PERMISSIVE.test(String(licence)))
      throw new CliError(`Entry ${index + 1} of ${manifest} has the licence ${licence}`, [
        "Only permissively licensed sessions are fetched: MIT, Apache-2.0, BSD, ISC, CC0.",
      ]);
    // What begins with a dash would be an option of git.
    if (
      [repo, commit, path].some((value) => String(value).startsWith("-")) ||
      !/^[0-9a-f]{64}$/.test(String(sha256))
    )
      throw new CliError(`Entry ${index + 1} of ${manifest} cannot be fetched`);
    return read as SuiteEntry;
  });
}

const PERMISSIVE = /^(?:MIT|Apache-2\.0|BSD-\d-Clause|ISC|CC0-1\.0|Unlicense)$/;
