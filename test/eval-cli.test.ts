import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleCli } from "./rig/build-cli.ts";
import { exportOf, workingSession } from "./rig/eval-session.ts";

const folder = mkdtempSync(join(tmpdir(), "carryover-eval-"));
const cli = join(folder, "program/dist/cli.js");
const sessions = join(folder, "sessions");
const cache = join(folder, "cache");

beforeAll(async () => {
  await bundleCli(cli);
  writeFileSync(join(folder, "program/package.json"), '{"version":"0.0.0","type":"module"}');
  mkdirSync(join(sessions, "deep"), { recursive: true });
  for (let index = 0; index < 4; index++) {
    const session = exportOf(workingSession({ steps: 30 + index, editsBackSteps: 2 + 8 * index }));
    const json = JSON.stringify(session);
    if (index % 2 === 0) writeFileSync(join(sessions, `s${index}.json`), json);
    else writeFileSync(join(sessions, "deep", `s${index}.json.gz`), gzipSync(json));
  }
  writeFileSync(join(sessions, "package.json"), '{"name":"not a transcript"}');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function carryover(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, "eval", ...args], {
    encoding: "utf8",
    cwd: folder,
    maxBuffer: 2 ** 28,
  });
  return { status, stdout, stderr };
}

describe("carryover eval", () => {
  it("prints figures for a program: by policy, then by budget", () => {
    const { status, stdout, stderr } = carryover(
      sessions,
      "--json",
      "--no-cache",
      "--jobs",
      "2",
      "--budget",
      "25k,50000",
    );
    expect(status).toBe(0);
    const report = JSON.parse(stdout);
    expect(report.sessions).toMatchObject({ total: 4, byFormat: { opencode: 4 } });
    for (const name of ["last-N", "uniform-1500", "mask-10", "prune-protect", "hybrid-50", "fixed"])
      expect(report.policies[name]["50000"]).toMatchObject({
        usable: expect.any(Number),
        editReady: expect.any(Number),
        refetch: expect.any(Number),
        context: expect.any(Number),
      });
    expect(report.cost[0]).toMatchObject({ policy: "append-only", cost: 1 });
    expect(stderr).toContain("5 of 5 files");
    expect(stderr).toMatch(/skipped .*package\.json: /);
  });

  it("gives the same figures on one thread and on three, and from the cache", () => {
    const args = [sessions, "--json", "--measure", "recall,compaction,cost,tokens"];
    const alone = carryover(...args, "--no-cache", "--jobs", "1");
    const together = carryover(...args, "--cache", cache, "--jobs", "3");
    const again = carryover(...args, "--cache", cache, "--jobs", "3");
    expect(together.stdout).toBe(alone.stdout);
    expect(again.stdout).toBe(alone.stdout);
    expect(together.stderr).not.toContain("known from before");
    expect(again.stderr).toContain("4 known from before");
  });

  it("keeps its cache for the user alone, and 14 days", () => {
    const ownCache = join(folder, "cache-of-age");
    const files = [13, 15].map((days) => [days, join(ownCache, `${String(days).repeat(32)}.json`)] as const);
    const run = () =>
      carryover(sessions, "--json", "--cache", ownCache, "--measure", "tokens", "--jobs", "1");
    run();
    const [name = ""] = readdirSync(ownCache);
    expect(statSync(ownCache).mode & 0o777).toBe(0o700);
    expect(statSync(join(ownCache, name)).mode & 0o777).toBe(0o600);
    for (const [days, path] of files) {
      writeFileSync(path, "{}");
      const seconds = Date.now() / 1_000 - days * 86_400;
      utimesSync(path, seconds, seconds);
    }
    run();
    expect(files.filter(([, path]) => existsSync(path)).map(([days]) => days)).toEqual([13]);
  });

  it("keeps figures in the cache, nothing of what the sessions say", () => {
    const kept = readdirSync(cache);
    expect(kept).toHaveLength(4);
    for (const name of kept)
      expect(readFileSync(join(cache, name), "utf8")).not.toMatch(/valueOf_|parts\/part/);
  });

  it("goes on where it was when it was stopped", async () => {
    const ownCache = join(folder, "cache-of-stopped");
    const args = [
      cli,
      "eval",
      sessions,
      "--json",
      "--cache",
      ownCache,
      "--jobs",
      "1",
      "--measure",
      "recall,speed",
    ];
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (/[2-3] of 5/.test(text)) child.kill("SIGINT");
    });
    await ended;
    const whole = readdirSync(ownCache).filter((name) => name.endsWith(".json"));
    expect(whole.length).toBeGreaterThan(0);
    for (const name of whole)
      expect(() => JSON.parse(readFileSync(join(ownCache, name), "utf8"))).not.toThrow();
    const { status, stderr } = carryover(...args.slice(2));
    expect(status).toBe(0);
    expect(stderr).toMatch(/5 of 5 files, [1-4] known from before/);
  });

  it("measures a policy of one's own", () => {
    writeFileSync(join(folder, "nothing.mjs"), "export default () => '';");
    const { stdout, status } = carryover(
      sessions,
      "--policy",
      "last-N,./nothing.mjs",
      "--json",
      "--no-cache",
      "--measure",
      "recall",
    );
    expect(status).toBe(0);
    const { policies, paired } = JSON.parse(stdout);
    expect(policies.nothing["50000"]).toMatchObject({ usable: 0, editReady: 0, usedChars: 0 });
    expect(new Set(paired.map(({ against }: { against: string }) => against))).toEqual(new Set(["last-N"]));
  });

  it("fails when a policy exceeds its budget, after it has shown the figures", () => {
    writeFileSync(
      join(folder, "greedy.mjs"),
      "export default { name: 'greedy', explain: 'too much', run: (_, budgetChars) => 'x'.repeat(budgetChars + 1) };",
    );
    const { stdout, stderr, status } = carryover(
      sessions,
      "--policy",
      "./greedy.mjs",
      "--no-cache",
      "--measure",
      "recall",
    );
    expect(status).toBe(2);
    expect(stdout).toContain("Recall at 25k characters");
    expect(stderr).toMatch(/Controls broken: .* texts over their budget/);
  });

  it("writes a page and pictures", () => {
    const [page, pictures] = [join(folder, "report.html"), join(folder, "pictures")];
    const { status, stdout } = carryover(
      sessions,
      "--html",
      page,
      "--svg",
      pictures,
      "--cache",
      cache,
      "--jobs",
      "2",
    );
    expect(status).toBe(0);
    expect(readFileSync(page, "utf8")).toContain("<h1>What survives</h1>");
    expect(readdirSync(pictures).sort()).toEqual([
      "eval-cost.svg",
      "eval-drift-instructions.svg",
      "eval-edit-ready.svg",
      "eval-recall.svg",
    ]);
    expect(stdout).toContain("Controls hold");

    const again = carryover(sessions, "--svg", pictures, "--no-cache", "--measure", "recall");
    expect(again.stderr).toBe(
      `error: --svg ${join(pictures, "eval-recall.svg")} exists already; it was left as it is\nName another file, or add --force to replace it.\n`,
    );
    expect(again.status).toBe(2);
  });

  it("says nothing of controls where nothing was probed", () => {
    const { status, stdout } = carryover(sessions, "--no-cache", "--measure", "tokens");
    expect(status).toBe(0);
    expect(stdout).toContain("Nothing was probed");
    expect(stdout).toContain("0 of them probed");
    expect(stdout).not.toContain("Controls hold");
  });

  it("explains the policies", () => {
    const { status, stdout } = carryover("--policy", "list");
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ {2}last-N {2,}the last characters/);
  });

  it.each([
    { args: ["/does/not/exist"], says: /Cannot read \/does\/not\/exist/ },
    { args: ["program/dist"], says: /There is no transcript in program\/dist/ },
    { args: ["sessions/package.json", "--no-cache"], says: /None of the files is a transcript/ },
    {
      args: ["sessions", "--policy", "unheard-of"],
      says: /There is no policy unheard-of\nChoose from last-N/,
    },
    { args: ["sessions", "--policy", "./absent.mjs"], says: /Cannot load the policy/ },
    { args: ["sessions", "--budget", "many"], says: /Give a whole number/ },
    { args: ["sessions", "--measure", "luck"], says: /Choose from recall/ },
    { args: ["sessions", "--jobs", "0"], says: /whole number from 1/ },
  ])("answers $args with a clear line", ({ args, says }) => {
    const { status, stderr } = carryover(...args);
    expect(status).toBe(2);
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/ at .*\.js:\d+/);
  });
});
