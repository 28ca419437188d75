import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildCli } from "./rig/build-cli.ts";
import { cliSamples } from "./rig/cli-samples.ts";
import { createCliRunner } from "./rig/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "carryover-stats-"));
const sessions = join(folder, "sessions");
const samples = cliSamples();
let cli = "";
const carryover = createCliRunner(() => cli);

beforeAll(async () => {
  cli = await buildCli("cli-stats");
  mkdirSync(join(sessions, "deep"), { recursive: true });
  for (const [index, { fileName, text }] of samples.entries()) {
    if (index % 2 === 0) writeFileSync(join(sessions, fileName), text);
    else writeFileSync(join(sessions, "deep", `${fileName}.gz`), gzipSync(text));
  }
  writeFileSync(join(sessions, "package.json"), '{"name":"not a transcript"}');
  // What the packages of a project bring along is nobody's session.
  mkdirSync(join(sessions, "node_modules/some-package"), { recursive: true });
  writeFileSync(join(sessions, "node_modules/some-package/example.json"), samples[0]?.text ?? "");
  writeFileSync(join(sessions, "torn.json.gz"), gzipSync("{}".repeat(999)).subarray(0, 15));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("carryover stats", () => {
  it("sums up every session in a folder, whatever its format", async () => {
    const { status, stdout, stderr } = await carryover(["stats", sessions, "--json", "--jobs", "2"]);
    expect(status).toBe(0);
    const stats = JSON.parse(stdout);
    expect(stats.files).toEqual({ total: 14, read: 12, skipped: 2 });
    expect(stats.totals).toMatchObject({ sessions: 12 });
    expect(new Set(stats.byFormat.map(({ format }: { format: string }) => format))).toEqual(
      new Set(samples.map(({ format }) => format)),
    );
    const { p50, p90, max } = stats.percentiles.windowTokens;
    expect(p50).toBeGreaterThan(0);
    expect(p90).toBeGreaterThanOrEqual(p50);
    expect(max).toBe(stats.worst.largestWindows[0].tokens);
    expect(stats.worst.largestItems).toHaveLength(5);
    expect(stats.skipped.map(({ reason }: { reason: string }) => reason).join()).toMatch(
      /no transcript.*gzip is broken/,
    );
    expect(stderr).toContain("14 of 14 files");
  });

  it("says the same on one thread and on three", async () => {
    const one = await carryover(["stats", sessions, "--json", "--jobs", "1"]);
    const three = await carryover(["stats", sessions, "--json", "--jobs", "3"]);
    expect(three.stdout).toBe(one.stdout);
  });

  it("shows a person the totals and what stands out", async () => {
    const { stdout } = await carryover(["stats", sessions, "--top", "2"]);
    expect(stdout).toMatch(/^12 sessions in 14 files, /);
    for (const heading of ["By format", "Of 100 sessions", "Largest windows", "Largest items", "Skipped"])
      expect(stdout).toContain(`\n${heading}\n`);
  });

  it("shows what it has at Ctrl-C", async () => {
    const many = join(folder, "many");
    mkdirSync(many);
    for (let number = 0; number < 400; number++)
      writeFileSync(join(many, `${number}.jsonl`), samples[1]?.text ?? "");
    const { status, stdout, stderr } = await carryover(["stats", many, "--json", "--jobs", "2"], {
      stopAt: "40 of 400",
    });
    expect(status).toBe(130);
    expect(stderr).toMatch(/Stopped after \d+ of 400 files/);
    const { files } = JSON.parse(stdout);
    expect(files.read).toBeGreaterThanOrEqual(40);
    expect(files.read).toBeLessThan(400);
  });

  it.each([
    { args: ["/does/not/exist"], says: /Cannot read \/does\/not\/exist: there is no such file\n$/ },
    { args: [resolve(import.meta.dirname, "ai-sdk")], says: /There is no transcript in/ },
    { args: [join(sessions, "package.json")], says: /None of the files is a transcript/ },
    { args: [sessions, "--jobs", "0"], says: /whole number from 1/ },
  ])("answers $args with a clear line", async ({ args, says }) => {
    const { status, stderr } = await carryover(["stats", ...args]);
    expect(status).toBe(2);
    expect(stderr).toMatch(says);
  });
});

const corpus = resolve(import.meta.dirname, "../../shared/eval/corpus");
const isThere = existsSync(join(corpus, "manifest.json"));
if (!isThere) console.log("cli-stats: skipped, ../shared/eval/corpus is not there");
const isLong = process.env.CARRYOVER_LONG !== undefined;

describe.skipIf(!isThere || !isLong)("carryover stats on the corpus (CARRYOVER_LONG)", () => {
  it("reads all 75 sessions", async () => {
    const { status, stdout } = await carryover(["stats", corpus, "--json"]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ files: { read: 75, skipped: 1 }, totals: { sessions: 75 } });
  });
});
