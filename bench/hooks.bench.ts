import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { removeFolder } from "../test/rig/remove-folder.ts";
import { printTable } from "./measure.ts";

/** The hook built by `npm run build`. */
const hook = resolve("dist/agents/carryover/hook.js");

/**
 * Measures how long an agent waits for a hook, process start included, and its CPU time, compared with an empty Node
 * process.
 */
export async function benchHooks(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "carryover-bench-"));
  try {
    const session = join(home, "session.jsonl");
    writeFileSync(session, sessionLines());
    const unprepared = join(home, "unprepared.jsonl");
    writeFileSync(unprepared, sessionLines());
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
        "before a compaction, 2 MB of session",
        [hook, "claude-code"],
        payload({ hook_event_name: "PreCompact", trigger: "auto", transcript_path: session }),
      ],
      ["after it, three at once", [hook, "claude-code"], after(session)],
      ["the same, nothing prepared, three at once", [hook, "claude-code"], after(unprepared)],
    ];
    // Alternating, so that other load affects all cases alike.
    const times = cases.map((): Taken[] => []);
    for (let run = 0; run < RUNS; run += 1)
      for (const [at, [name, args, input]] of cases.entries()) {
        const parts = name.includes("at once") ? ["1", "2", "3"] : ["1"];
        const taken = await Promise.all(parts.map((part) => timeOf([...args, part], input, home)));
        times[at]?.push({
          wallMs: Math.max(...taken.map(({ wallMs }) => wallMs)),
          cpuMs: taken.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / parts.length,
        });
        // Wait for background processes, so that they do not affect the next measurement.
        if (name.startsWith("before")) await sleep(PREPARED_MS);
      }
    const rows: string[][] = [["moment", "p50", "p95", "of Node alone", "processor, each", "of Node alone"]];
    const [[wallAlone, cpuAlone] = [1, 1]] = times.map((taken) => [
      quantile(
        taken.map(({ wallMs }) => wallMs),
        0.5,
      ),
      quantile(
        taken.map(({ cpuMs }) => cpuMs),
        0.5,
      ),
    ]);
    for (const [at, [name]] of cases.entries()) {
      const taken = times[at] ?? [];
      const walls = taken.map(({ wallMs }) => wallMs);
      const half = quantile(walls, 0.5);
      const cpu = quantile(
        taken.map(({ cpuMs }) => cpuMs),
        0.5,
      );
      rows.push([
        name,
        `${half.toFixed(0)} ms`,
        `${quantile(walls, 0.95).toFixed(0)} ms`,
        (half / (wallAlone ?? 1)).toFixed(1),
        `${cpu.toFixed(0)} ms`,
        (cpu / (cpuAlone ?? 1)).toFixed(1),
      ]);
    }
    printTable(`Hooks: ${RUNS} processes each, from start to end (limit 150 ms at p95)`, rows);
  } finally {
    // A background process may still write.
    removeFolder(home);
  }
}

const RUNS = 100;
const PREPARED_MS = 1_500;

function quantile(times: readonly number[], share: number): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length * share)] ?? 0;
}

/** For any session other than the prepared one, nothing is known. */
function after(session: string): string {
  const session_id = session.includes("unprepared") ? "other" : "s";
  return payload({
    hook_event_name: "SessionStart",
    source: "compact",
    transcript_path: session,
    session_id,
  });
}

/** Wall time and CPU time of a process. Load on the machine affects CPU time less. */
interface Taken {
  readonly wallMs: number;
  readonly cpuMs: number;
}

function timeOf(args: readonly string[], input: string, home: string): Promise<Taken> {
  const meter = join(home, "meter.cjs");
  const file = join(home, `cpu-${args.at(-1)}`);
  writeFileSync(meter, METER);
  const started = performance.now();
  return new Promise((done, fail) => {
    const env = { PATH: process.env.PATH, HOME: home, METER_FILE: file };
    const child = spawn(process.execPath, ["-r", meter, ...args], {
      env,
      stdio: ["pipe", "ignore", "inherit"],
    });
    child.once("error", fail).once("exit", () => {
      done({ wallMs: performance.now() - started, cpuMs: Number(readFileSync(file, "utf8")) / 1000 });
    });
    child.stdin.on("error", () => {}).end(input);
  });
}

/** Prints the CPU time of a process at its exit, in microseconds. */
const METER = `process.on("exit", () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  require("node:fs").writeFileSync(process.env.METER_FILE, String(userCPUTime + systemCPUTime));
});`;

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
