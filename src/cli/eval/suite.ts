import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { asObject, asString } from "../../text/json.ts";
import { errorMessage } from "../../text/truncate.ts";
import { writeFileAtomic } from "../files/write-file.ts";
import { CliError } from "../terminal/cli-error.ts";

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
export type SuiteFile =
  | { readonly status: "there"; readonly entry: SuiteEntry; readonly file: string }
  | { readonly status: "missing"; readonly entry: SuiteEntry; readonly reason: string };

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

/**
 * Brings the sessions of a suite into a folder with the user's own git, one shallow fetch a repository and commit. A file
 * counts only when its bytes have the hash of the manifest; what is there from before is not fetched again.
 */
export async function fetchSuite(
  entries: readonly SuiteEntry[],
  folder: string,
): Promise<readonly SuiteFile[]> {
  await mkdir(folder, { recursive: true });
  const fetched = new Map<string, string>();
  const files: SuiteFile[] = [];
  for (const entry of entries) {
    const file = join(folder, `${entry.sha256}.session`);
    if (await isFile(file)) {
      files.push({ status: "there", entry, file });
      continue;
    }
    try {
      const bytes = await readFromGit(entry, { folder, fetched });
      if (createHash("sha256").update(bytes).digest("hex") !== entry.sha256)
        throw new Error("its bytes are not those that the manifest names");
      await writeFileAtomic(file, bytes);
      files.push({ status: "there", entry, file });
    } catch (error) {
      files.push({ status: "missing", entry, reason: errorMessage(error).split("\n")[0] ?? "" });
    }
  }
  return files;
}

interface GitPlace {
  readonly folder: string;
  /** Repository and commit, and the object that was fetched for it; empty where that failed. */
  readonly fetched: Map<string, string>;
}

async function readFromGit(
  { repo, commit, path }: SuiteEntry,
  { folder, fetched }: GitPlace,
): Promise<Buffer> {
  const key = `${repo}\n${commit}`;
  const git = join(folder, `${createHash("sha256").update(repo).digest("hex").slice(0, 16)}.git`);
  if (!fetched.has(key)) {
    fetched.set(key, "");
    if (!(await isFile(join(git, "HEAD")))) await runGit(["init", "--quiet", "--bare", git]);
    await runGit(["-C", git, "fetch", "--quiet", "--depth", "1", "--no-tags", addressOf(repo), commit]);
    fetched.set(key, (await runGit(["-C", git, "rev-parse", "FETCH_HEAD"])).toString("utf8").trim());
  }
  const object = fetched.get(key);
  if (object === undefined || object === "") throw new Error(`${commit} of ${repo} could not be fetched`);
  return runGit(["-C", git, "cat-file", "blob", `${object}:${path}`]);
}

function addressOf(repo: string): string {
  return /^[\w.-]+\/[\w.-]+$/.test(repo) ? `https://github.com/${repo}.git` : repo;
}

const MAX_BYTES = 256 * 1024 * 1024;

function runGit(args: readonly string[]): Promise<Buffer> {
  const env = { ...process.env, GIT_TERMINAL_PROMPT: "0" };
  return new Promise((resolve, reject) => {
    execFile("git", [...args], { env, encoding: "buffer", maxBuffer: MAX_BYTES }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(stderr.toString("utf8").trim() || error.message));
    });
  });
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false;
}
