import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { removeFolder } from "../../../test/rig/remove-folder.ts";
import { createLogFile } from "../log-file.ts";

const root = mkdtempSync(join(tmpdir(), "carryover-hook-"));
const src = resolve(import.meta.dirname, "../..");
let home: string;

/** The hook as a program, and one that never comes to an end. */
beforeAll(async () => {
  const stuck = join(root, "stuck.ts");
  writeFileSync(
    stuck,
    `import { runHook } from "${src}/agents/hooks/run-hook.ts";
void runHook({ name: "stuck", agent: { name: "claude-code", readOutput: () => undefined, addContext: (_, text) => text }, part: 1, limitMs: 200, decide: () => new Promise(() => setInterval(() => {}, 50)) });`,
  );
  const bundle = await rolldown({
    input: { hook: join(src, "hook.ts"), stuck },
    platform: "node",
    resolve: { mainFields: ["module", "main"] },
    external: ["pg"],
    logLevel: "silent",
  });
  await bundle.write({ dir: join(root, "made"), format: "cjs", entryFileNames: "[name].cjs" });
  await bundle.close();
}, 60_000);
afterAll(() => removeFolder(root));
beforeEach(() => {
  home = mkdtempSync(join(root, "home-"));
});

const LONG = Array.from({ length: 5_000 }, (_, at) => `line ${at + 1}\n`).join("");
const payload = (stdout: string, more: object = {}): string =>
  JSON.stringify({
    session_id: "s1",
    transcript_path: join(home, "none.jsonl"),
    cwd: home,
    hook_event_name: "PostToolUse",
    tool_name: "Bash",
    tool_use_id: "t1",
    tool_response: { stdout, stderr: "", interrupted: false, isImage: false },
    ...more,
  });

interface Run {
  readonly program?: string;
  readonly part?: string;
  readonly env?: object;
}

function run(input: string, { program = "hook", part = "1", env = {} }: Run = {}) {
  const given = {
    input,
    encoding: "utf8",
    timeout: 20_000,
    env: { PATH: process.env.PATH, HOME: home, ...env },
  } as const;
  const args = [join(root, "made", `${program}.cjs`), "claude-code", part];
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, given);
  return { status, signal, stdout, stderr };
}

const logged = (): readonly string[] => {
  const file = join(home, ".local", "share", "carryover", "plugin.log");
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
};

const NOTHING = { status: 0, stdout: "", stderr: "" };

describe("a hook as a program", () => {
  it("trims a long output and says nothing of a short one", () => {
    expect(run(payload("short"))).toMatchObject(NOTHING);
    expect(run(payload(LONG)).stdout).toMatch(/^\{"hookSpecificOutput".*sha256 [0-9a-f]{64}/);
    expect(logged()).toEqual([]);
  });

  it.each([
    ["no JSON", "{not json"],
    ["nothing", ""],
    ["half of it", '{"hook_event_name":"PostToolUse","tool_resp'],
  ])("that is told %s changes nothing, ends well and says so in one line", (_, input) => {
    expect(run(input)).toMatchObject(NOTHING);
    expect(logged()).toEqual([expect.stringMatching(/ error a hook failed and changed nothing /)]);
  });

  it.each(["[]", "null", "7", '{"hook_event_name":"PostToolUse"}', '{"hook_event_name":"Unknown"}'])(
    "that is told %s does nothing",
    (input) => {
      expect(run(input)).toMatchObject(NOTHING);
    },
  );

  it("whose session cannot be read changes nothing, and says so", () => {
    const compacted = { hook_event_name: "SessionStart", source: "compact" };
    expect(run(payload("", compacted))).toMatchObject(NOTHING);
    expect(logged()).toHaveLength(1);
  });

  it("notes the mode of a session that forks, and refuses a sub-agent that does", () => {
    const asked = { hook_event_name: "PreToolUse", permission_mode: "plan", tool_use_id: "t2" };
    const note = join(home, ".local", "share", "carryover", "waiting", "modes", "t2");
    const refused = run(payload("", { ...asked, agent_id: "a1", agent_type: "Explore" }));
    expect(JSON.parse(refused.stdout).hookSpecificOutput).toMatchObject({
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: expect.stringContaining("A sub-agent cannot start forks"),
    });
    expect(existsSync(note)).toBe(false);
    expect(run(payload("", asked))).toMatchObject(NOTHING);
    expect(readFileSync(note, "utf8")).toBe("plan");
  });

  it("after a compaction that was prepared for says its piece, and only the first of several loads anything", () => {
    const file = join(home, "session.jsonl");
    const folder = join(home, ".local", "share", "carryover");
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, '{"type":"summary"}\n');
    const note = { of: "claude-code s1", atMs: Date.now(), bytes: 0, words: ["Make it fast"] };
    const all = ["first piece", "second piece"];
    writeFileSync(join(folder, "restore.json"), JSON.stringify({ ...note, all }));
    const loaded = join(home, "loaded.cjs");
    const list = `require("node:fs").appendFileSync("${home}/loaded", Object.keys(require.cache).join("\\n"))`;
    writeFileSync(loaded, `process.on("exit", () => ${list});`);
    const compacted = { hook_event_name: "SessionStart", source: "compact", transcript_path: file };
    const said = (part: string): string =>
      run(payload("", compacted), { part, env: { NODE_OPTIONS: `--require=${loaded}` } }).stdout;
    expect(JSON.parse(said("2")).hookSpecificOutput.additionalContext).toBe("second piece");
    expect(said("3")).toBe("");
    expect(readFileSync(join(home, "loaded"), "utf8")).toMatch(/^(?:(?!answer-hook)[\s\S])+$/);
    expect(JSON.parse(said("1")).hookSpecificOutput.additionalContext).toBe("first piece");
    expect(readFileSync(join(home, "loaded"), "utf8")).toContain("answer-hook");
    const [journal = ""] = readdirSync(join(folder, "journal"));
    expect(readFileSync(join(folder, "journal", journal), "utf8")).toContain('"restored","chars":23');
  });

  it("leaves an output as it is where its folder is a file, or cannot be made", () => {
    mkdirSync(join(home, ".local", "share"), { recursive: true });
    writeFileSync(join(home, ".local", "share", "carryover"), "no folder");
    expect(run(payload(LONG))).toMatchObject(NOTHING);
    expect(run(payload(LONG), { env: { XDG_DATA_HOME: "/dev/null" } })).toMatchObject(NOTHING);
  });

  it("leaves an output as it is where the disk is full, with one line once there is room", (test) => {
    const disk = join(home, "disk");
    mkdirSync(join(disk, "carryover"), { recursive: true });
    const mount = spawnSync("mount", [
      "-t",
      "tmpfs",
      "-o",
      "size=16k,mode=700",
      "none",
      join(disk, "carryover"),
    ]);
    if (mount.status !== 0) test.skip("a disk of a few bytes cannot be made here");
    try {
      const shown = run(payload(LONG), { env: { XDG_DATA_HOME: disk } });
      expect(shown).toMatchObject(NOTHING);
      const log = readFileSync(join(disk, "carryover", "plugin.log"), "utf8")
        .trimEnd()
        .split("\n");
      expect(log).toEqual([expect.stringMatching(/cannot be kept.*ENOSPC|ENOSPC.*cannot be kept|no space/)]);
    } finally {
      spawnSync("umount", [join(disk, "carryover")]);
    }
  });

  it("that takes too long changes nothing, ends well and says so in one line", () => {
    expect(run(payload("", { hook_event_name: "PreCompact" }), { program: "stuck" })).toMatchObject(NOTHING);
    expect(logged()).toEqual([expect.stringMatching(/ error a hook took too long and changed nothing /)]);
  });

  it("that is never told anything ends as well, with its line", async () => {
    const child = spawn(process.execPath, [join(root, "made", "stuck.cjs")], {
      env: { PATH: process.env.PATH, HOME: home },
      stdio: ["pipe", "ignore", "ignore"],
    });
    await new Promise((ended) => child.once("exit", ended));
    expect(logged()).toEqual([expect.stringMatching(/took too long/)]);
  });
});

it("the log of the plugin takes 2 MB at the most, of the user alone", async () => {
  const file = join(home, "log", "plugin.log");
  const log = createLogFile(file);
  const line = "x".repeat(100_000);
  for (let count = 0; count < 30; count++) log("info", line);
  log("info", "the last");
  await expect.poll(() => (existsSync(file) ? readFileSync(file, "utf8") : "")).toContain("the last");
  const files = [file, `${file}.old`];
  expect(files.reduce((sum, each) => sum + statSync(each).size, 0)).toBeLessThan(2_000_000 + 2 * 101_000);
  expect(files.map((each) => statSync(each).mode & 0o777)).toEqual([0o600, 0o600]);
  expect(statSync(join(home, "log")).mode & 0o777).toBe(0o700);
});
