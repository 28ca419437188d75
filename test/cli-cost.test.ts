import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildCli } from "./rig/build-cli.ts";
import { linesOf, next, START } from "./rig/cache-session.ts";
import { createCliRunner } from "./rig/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "carryover-cost-"));
const file = join(folder, "sessions", "0c3182b1-f294-4a9e-8000-000000000000.jsonl");
let cli = "";
const carryover = createCliRunner(() => cli);

const second = next(START, 3);
const requests = [
  START,
  { ...second, pauseMinutes: 12 },
  { ...next(second, 4), tools: [...START.tools, "Grep.."] },
];
const textOf = (lines: readonly unknown[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join("");

beforeAll(async () => {
  cli = await buildCli("cli-cost");
  mkdirSync(join(folder, "sessions"), { recursive: true });
  writeFileSync(file, textOf(linesOf(requests)));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("carryover cost", () => {
  it("says what a session cost, how much was for cache misses, and why the cache was missed", async () => {
    const { status, stdout, stderr } = await carryover(["cost", file]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^\$\d\.\d+ for 3 requests of claude-opus-4-6$/m);
    expect(stdout).toMatch(
      /^\$0\.\d+ of it \(\d+ %\) was for cache misses: [\d,]+ tokens .* in 2 requests\.$/m,
    );
    expect(stdout).toMatch(/#2 11-16 10:13 +idle too long: nothing was asked for 12 minutes$/m);
    expect(stdout).toMatch(/#3 11-16 10:14 +changed tools: the tool Grep added$/m);
    expect(stdout).toContain("Prices: platform.claude.com, model and pricing pages, read on 2026-11-16");
  });

  it("counts the sub-agents of a session that have files of their own", async () => {
    const agents = join(file.replace(".jsonl", ""), "subagents");
    mkdirSync(agents, { recursive: true });
    writeFileSync(join(agents, "agent-1.jsonl"), textOf(linesOf([START])));
    const { stdout } = await carryover(["cost", file]);
    rmSync(agents, { recursive: true });
    expect(stdout).toMatch(/^\$0\.\d+ more for 1 sub-agent in files of their own$/m);
  });

  it("sums up a folder, in which a request that two files have was paid once", async () => {
    const copy = join(folder, "sessions", "copy.jsonl");
    const more = [...requests, next(next(next(second, 4), 5), 6)];
    writeFileSync(copy, textOf(linesOf(more)));
    const { status, stdout } = await carryover(["cost", join(folder, "sessions"), "--json", "--jobs", "1"]);
    const threads = await carryover(["cost", join(folder, "sessions"), "--json", "--jobs", "2"]);
    rmSync(copy);
    expect(status).toBe(0);
    const cost = JSON.parse(stdout);
    expect(cost.totals.requests).toBe(4);
    expect(cost.byCause.map(({ cause }: { cause: string }) => cause)).toContain("idle");
    expect(threads.stdout).toBe(stdout);
  });

  it("takes other prices, and says what is wrong with them", async () => {
    const prices = join(folder, "prices.json");
    const price = { input: 1, output: 1, cacheRead: 1, cacheWrite: { "5m": 1, "1h": 1 } };
    const row = { names: ["claude-opus-4-6"], prices: [price], source: "me" };
    writeFileSync(prices, JSON.stringify([row]));
    const { stdout } = await carryover(["cost", file, "--models", prices, "--json"]);
    const { totals } = JSON.parse(stdout);
    const tokens =
      totals.inputTokens + totals.outputTokens + totals.cacheReadTokens + totals.cacheWriteTokens;
    expect(totals.costUSD).toBeCloseTo(tokens / 1e6, 9);
    writeFileSync(prices, JSON.stringify([{ ...row, prices: [{ ...price, input: "1" }], window: 1 }]));
    const wrong = await carryover(["cost", file, "--models", prices]);
    expect(wrong).toMatchObject({ status: 2, stdout: "" });
    expect(wrong.stderr).toMatch(/prices\.0\.input[\s\S]*window/);
  });

  it("asks for a session where there is none, and shows no example", async () => {
    const home = join(folder, "nobody");
    const { status, stderr } = await carryover(["cost"], { env: { HOME: home, XDG_DATA_HOME: home } });
    expect(status).toBe(2);
    expect(stderr).toContain("There is no session of OpenCode, Claude Code, Codex or pi on this machine");
  });

  it("says so where a session does not record what was used", async () => {
    const silent = join(folder, "silent.json");
    writeFileSync(
      silent,
      JSON.stringify([
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Hello" },
      ]),
    );
    const { status, stderr } = await carryover(["cost", silent]);
    expect(status).toBe(2);
    expect(stderr).toContain("does not record what its requests used");
  });
});

describe("a wrong command line", () => {
  it("is answered with the command that was meant, also with a file behind it", async () => {
    const { status, stderr } = await carryover(["inspec", file]);
    expect(status).toBe(2);
    expect(stderr).toBe("error: There is no command, no file and no session inspec\nDid you mean inspect?\n");
  });

  it("with many sessions is led to the commands that take them", async () => {
    const { status, stderr } = await carryover(["inspect", file, file]);
    expect(status).toBe(2);
    expect(stderr).toMatch(
      /^error: inspect shows one session, and 2 were named\n`carryover stats` sums up many/,
    );
  });
});
