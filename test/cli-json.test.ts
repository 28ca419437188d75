import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildCli } from "./rig/build-cli.ts";
import { linesOf, next, START } from "./rig/cache-session.ts";
import { DESCRIBED_COMMANDS, jsonFaults } from "./rig/check-json.ts";
import { createTestContext } from "./rig/plugin-context.ts";
import { createCliRunner } from "./rig/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "carryover-json-"));
const file = join(folder, "sessions", "0c3182b1-f294-4a9e-8000-000000000000.jsonl");
const sample = resolve(import.meta.dirname, "../examples/sessions/opencode-session.json");
let cli = "";
const carryover = createCliRunner(() => cli);

beforeAll(async () => {
  cli = await buildCli("cli-json");
  mkdirSync(join(folder, "sessions"), { recursive: true });
  const lines = linesOf([START, { ...next(START, 3), pauseMinutes: 12 }]);
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("what --json prints", () => {
  const calls: Readonly<Record<string, readonly (readonly string[])[]>> = {
    inspect: [[sample]],
    fork: [[sample]],
    compact: [[sample], [sample, "--local"]],
    handoff: [[sample, "--to", "codex", "--dry-run"]],
    rescue: [[sample, "--dry-run"]],
    recall: [[sample, "invoice"]],
    cost: [[file], [join(folder, "sessions"), "--jobs", "1"]],
    stats: [[join(folder, "sessions"), "--jobs", "1"]],
    eval: [
      [
        sample,
        ...["--policy", "last-N", "--budget", "25k", "--measure", "recall", "--probes", "1"],
        ...["--jobs", "1", "--no-cache"],
      ],
    ],
    forks: [[]],
    doctor: [["claude-code", "--no-self-test"]],
    purge: [[]],
  };

  it.each(Object.entries(calls).flatMap(([verb, all]) => all.map((args) => [verb, args] as const)))(
    "is what its schema says: %s %j",
    async (verb, args) => {
      const { stdout } = await carryover([verb, ...args, "--json"]);
      expect(jsonFaults(verb, JSON.parse(stdout))).toEqual([]);
    },
  );

  it("is what its schema says: undo of an edit in a journal, where no plugin runs", async () => {
    const { context, folder: store } = createTestContext();
    const sizes = { tokensBefore: 900, tokensAfter: 400 };
    const batch = {
      v: 1,
      type: "batch",
      id: "b1",
      step: "prune",
      reason: "pays",
      at: 1,
      ...sizes,
      edits: [],
    };
    await context.journal("ses_1").append({ atMs: 1, sessionId: "ses_1", type: "engine", record: batch });
    const { status, stdout } = await carryover(["undo", "--store", store, "--json"]);
    expect({ status, said: JSON.parse(stdout) }).toMatchObject({
      status: 0,
      said: { schemaVersion: 1, batchId: "b1", tokens: 500 },
    });
  });

  it("has a schema for every command with --json", async () => {
    const { stdout } = await carryover(["--help"]);
    const verbs = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, verb = ""]) => verb);
    const helps = await Promise.all(verbs.map((verb) => carryover([verb, "--help"])));
    const withJson = verbs.filter((_, index) => helps[index]?.stdout.includes("--json "));
    expect(withJson.sort()).toEqual([...DESCRIBED_COMMANDS].sort());
  });

  it("has no field that its schema does not list, and none of another kind", () => {
    const said = { schemaVersion: 1, batchId: "b1", tokens: 500, findings: [] };
    expect(jsonFaults("doctor", { schemaVersion: 1, findings: [] })).toEqual([]);
    expect(jsonFaults("doctor", { schemaVersion: 1, findings: [], more: 1 })).toHaveLength(1);
    expect(jsonFaults("doctor", { findings: [] })).toHaveLength(1);
    expect(jsonFaults("undo", { ...said, tokens: "500" })).not.toEqual([]);
    const finding = { check: "node", level: "problem", what: "x", how: "y" };
    expect(jsonFaults("doctor", { schemaVersion: 1, findings: [finding] })).toHaveLength(1);
  });
});
