import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { printTable } from "./measure.ts";

/** As `npm run build` has made it. */
const hook = resolve("dist/agents/carryover/hook.js");

/** How long an agent waits for a hook, start of the process included, one after the other; beside Node that does nothing. */
export async function benchHooks(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "carryover-bench-"));
  try {
    const session = join(home, "session.jsonl");
    writeFileSync(session, sessionLines());
    const persisted = join(home, "out.txt");
    writeFileSync(persisted, numbers(150_000));
    const cases: readonly (readonly [string, readonly string[], string])[] = [
      ["node -e 0", ["-e", "0"], ""],
      ["a short output", [hook, "claude-code"], payload({ ...bash("ok\n") })],
      ["6,000 lines", [hook, "claude-code"], payload(bash(numbers(6_000).slice(0, 30_000)))],
      [
        "1 MB in the agent's file",
        [hook, "claude-code"],
        payload(
          bash(numbers(150_000).slice(0, 30_000), {
            persistedOutputPath: persisted,
            persistedOutputSize: 1e6,
          }),
        ),
      ],
      [
        "after a compaction, 2 MB of session",
        [hook, "claude-code", "1"],
        payload({ hook_event_name: "SessionStart", source: "compact", transcript_path: session }),
      ],
    ];
    const rows: string[][] = [["moment", "p50", "p95"]];
    for (const [name, args, input] of cases) {
      const times: number[] = [];
      for (let run = 0; run < RUNS; run += 1) times.push(await timeOf(args, input, home));
      times.sort((one, other) => one - other);
      const at = (share: number): string => `${(times[Math.floor(times.length * share)] ?? 0).toFixed(0)} ms`;
      rows.push([name, at(0.5), at(0.95)]);
    }
    printTable(`Hooks: ${RUNS} processes each, from start to end (limit 150 ms at p95)`, rows);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const RUNS = 100;

function timeOf(args: readonly string[], input: string, home: string): Promise<number> {
  const started = performance.now();
  return new Promise((done, fail) => {
    const env = { PATH: process.env.PATH, HOME: home };
    const child = spawn(process.execPath, args, { env, stdio: ["pipe", "ignore", "inherit"] });
    child.once("error", fail).once("exit", () => done(performance.now() - started));
    child.stdin.on("error", () => {}).end(input);
  });
}

function payload(fields: object): string {
  return JSON.stringify({ session_id: "s", transcript_path: "/none", cwd: "/project", ...fields });
}

function bash(stdout: string, more: object = {}): object {
  return {
    hook_event_name: "PostToolUse",
    tool_name: "Bash",
    tool_use_id: "t1",
    tool_response: { stdout, stderr: "", interrupted: false, isImage: false, ...more },
  };
}

const numbers = (count: number): string => Array.from({ length: count }, (_, at) => `${at + 1}\n`).join("");

/** A session of 200 calls with 10 KB of output each, as Claude Code writes it. */
function sessionLines(): string {
  const lines: object[] = [];
  const add = (line: object): void => {
    const at = lines.length;
    lines.push({
      parentUuid: at === 0 ? null : `m${at - 1}`,
      uuid: `m${at}`,
      timestamp: new Date(at).toISOString(),
      ...line,
    });
  };
  for (let call = 0; call < 200; call += 1) {
    if (call % 10 === 0) add({ type: "user", message: { role: "user", content: `Request ${call}` } });
    const use = { type: "tool_use", id: `t${call}`, name: "Bash", input: { command: `cat file${call}.ts` } };
    add({ type: "assistant", message: { id: `a${call}`, role: "assistant", content: [use] } });
    const content = [
      { type: "tool_result", tool_use_id: `t${call}`, content: "const value = 1;\n".repeat(600) },
    ];
    add({ type: "user", message: { role: "user", content } });
  }
  return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}
