import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fetchSuite, readSuite, type SuiteEntry } from "../src/cli/eval/fetch-suite.ts";
import { bundleCli } from "./rig/build-cli.ts";
import { exportOf, workingSession } from "./rig/eval-session.ts";

// Repositories made here stand for the public ones: no test fetches from the network.
const folder = mkdtempSync(join(tmpdir(), "carryover-suite-"));
const cli = join(folder, "program/dist/cli.js");
const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(
    "git",
    ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-C", cwd, ...args],
    { encoding: "utf8" },
  ).trim();

function project(name: string, steps: number): SuiteEntry {
  const repo = join(folder, name);
  const text = JSON.stringify(exportOf(workingSession({ steps })));
  mkdirSync(join(repo, "logs"), { recursive: true });
  git(repo, "init", "--quiet");
  git(repo, "config", "uploadpack.allowAnySHA1InWant", "true");
  writeFileSync(join(repo, "logs/session.json"), text);
  git(repo, "add", ".");
  git(repo, "commit", "--quiet", "-m", "A session");
  const commit = git(repo, "rev-parse", "HEAD");
  // The commit that the manifest names is no longer the newest.
  git(repo, "rm", "--quiet", "logs/session.json");
  git(repo, "commit", "--quiet", "-m", "Tidied up");
  const sha256 = createHash("sha256").update(text).digest("hex");
  return { repo, commit, path: "logs/session.json", sha256, licence: "MIT" };
}

const manifest = (entries: readonly unknown[], name = "suite.json"): string => {
  writeFileSync(join(folder, name), JSON.stringify(entries));
  return join(folder, name);
};

let entries: readonly SuiteEntry[] = [];
beforeAll(async () => {
  entries = [project("one", 40), project("two", 45)];
  await bundleCli(cli);
  writeFileSync(join(folder, "program/package.json"), '{"version":"0.0.0","type":"module"}');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a suite", () => {
  it("is measured by host and project, from repositories that git fetches", () => {
    const cache = join(folder, "cache");
    const run = (...args: readonly string[]) =>
      spawnSync(
        process.execPath,
        [
          cli,
          "eval",
          "--suite",
          manifest(entries),
          "--cache",
          cache,
          "--budget",
          "25k",
          "--measure",
          "recall",
          ...args,
        ],
        { encoding: "utf8", cwd: folder, maxBuffer: 2 ** 28 },
      );
    const { status, stdout } = run("--json", "--policy", "last-N,fill");
    expect(status).toBe(0);
    const report = JSON.parse(stdout);
    expect(report.sessions.total).toBe(2);
    expect(
      report.groups.map(({ by, name, sessions }: Record<string, unknown>) => [by, name, sessions]),
    ).toEqual([
      ["host", "opencode", 2],
      ["project", entries[0]?.repo, 1],
      ["project", entries[1]?.repo, 1],
    ]);
    for (const { policies } of report.groups) expect(policies.fill["25000"].usable).toBeGreaterThan(0);
    const page = run("--policy", "last-N,fill").stdout;
    expect(page).toContain("By host and project at 25k characters");
    // Two sessions are too few for an interval, which is left out then.
    expect(page).toMatch(/project \S+ +1 +[\d.]{5} +[\d.]{5}\n/);
    expect(page).not.toContain("[–");
  });

  it("fetches what is missing, once, and names what cannot be had", async () => {
    const [one, two] = entries as [SuiteEntry, SuiteEntry];
    const into = join(folder, "fetched");
    const wrong = { ...two, sha256: "0".repeat(64) };
    const absent = { ...one, path: "logs/absent.json", sha256: "1".repeat(64) };
    const gone = { ...one, repo: join(folder, "nowhere"), sha256: "2".repeat(64) };
    const fetching: string[] = [];
    const files = await fetchSuite([one, wrong, absent, gone, { ...gone, path: "other" }], into, {
      onFetch: ({ repo }) => fetching.push(repo),
    });
    expect(files.map(({ status }) => status)).toEqual(["there", "missing", "missing", "missing", "missing"]);
    expect(files[1]).toMatchObject({ reason: "its bytes are not those that the manifest names" });
    // Why, for each of a repository's sessions.
    for (const file of files.slice(3))
      expect(file).toMatchObject({
        reason: expect.stringContaining("does not appear to be a git repository"),
      });
    expect(fetching.slice(0, 2)).toEqual([one.repo, two.repo]);
    const here = { ...two, repo: `./${relative(process.cwd(), two.repo)}` };
    expect(statSync(into).mode & 0o777, "for the user alone").toBe(0o700);
    expect(await fetchSuite([here], join(folder, "relative"))).toMatchObject([{ status: "there" }]);
    rmSync(join(one.repo, ".git"), { recursive: true });
    expect((await fetchSuite([one], into))[0]).toMatchObject({ status: "there" });
    expect(readdirSync(into), "no repository stays").toEqual([`${one.sha256}.session`]);
  });

  it("needs git, and says so once", async () => {
    const path = process.env.PATH;
    process.env.PATH = "/nowhere";
    await expect(fetchSuite(entries, join(folder, "no-git"))).rejects.toThrow("git, which fetches");
    process.env.PATH = path;
  });

  it.each([
    { name: "a licence that is not permissive", change: { licence: "GPL-3.0" }, says: "licence GPL-3.0" },
    { name: "a missing hash", change: { sha256: undefined }, says: "has no sha256" },
    { name: "an option for git", change: { repo: "--upload-pack=touch x" }, says: "cannot be fetched" },
  ])("refuses $name", async ({ change, says }) => {
    await expect(readSuite(manifest([{ ...entries[0], ...change }], "bad.json"))).rejects.toThrow(says);
  });

  it("is named in the project by addresses and hashes alone", async () => {
    const named = await readSuite(join(import.meta.dirname, "../docs/suite.json"));
    expect(named.length).toBeGreaterThan(100);
    expect(new Set(named.map(({ sha256 }) => sha256)).size).toBe(named.length);
  });
});
