import { spawnSync } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { finished } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { printTable } from "./measure.ts";

const MEGABYTES = 520;
const CLI = fileURLToPath(new URL("../../../dist/cli.js", import.meta.url));

/**
 * Each verb on a session of 520 MB with a compaction every 640,000 characters, as a multiple of the time that a program
 * takes which only reads the file and parses its lines; the same of the processor's time, which threads for compiling and
 * collecting add to; and the most memory. Needs `npm run build`, and a quiet machine for the time.
 */
export async function benchLargeSession(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "carryover-large-"));
  try {
    for (const [agent, { place, write }] of Object.entries(WRITERS)) {
      const path = join(folder, place);
      mkdirSync(dirname(path), { recursive: true });
      await writeSession(path, write());
      const rows: string[][] = [["verb", "s", "/ reading and parsing", "bar", "by CPU time", "MB", "bar"]];
      const page = join(folder, "page.html");
      const base = best(["--input-type=module", "-e", PARSE, path], folder);
      rows.push(["read and parse", base.seconds.toFixed(2), "", "", "", base.megabytes.toFixed(0), ""]);
      const verbs: readonly (readonly string[])[] = [
        ["inspect", path],
        ["inspect", path, "--json"],
        ["inspect", path, "--html", page, "--force"],
        ["cost", path],
        ["stats", path],
        ["compact", path],
        ["fork", path],
        ["handoff", path, "--to", agent === "codex" ? "claude-code" : "codex", "--dry-run"],
        [],
      ];
      for (const verb of verbs) {
        const { seconds, cpuSeconds, megabytes } = best([CLI, ...verb], folder);
        const name = verb.filter((word) => !word.startsWith(folder)).join(" ") || "(none)";
        rows.push([
          name,
          seconds.toFixed(2),
          ratio(seconds, base.seconds),
          "≤ 3",
          ratio(cpuSeconds, base.cpuSeconds),
          `${Math.round(megabytes)}`,
          "≤ 400",
        ]);
      }
      printTable(`A ${agent} session of ${MEGABYTES} MB, in processes of their own`, rows);
      rmSync(path);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function ratio(one: number, other: number): string {
  return `${(one / other).toFixed(2)}x`;
}

/** The minimum work of any reader. */
const PARSE = `
import { createReadStream } from "node:fs";
const decoder = new TextDecoder();
let rest = [];
for await (const chunk of createReadStream(process.argv[1])) {
  let start = 0;
  for (let end = chunk.indexOf(10); end !== -1; start = end + 1, end = chunk.indexOf(10, start)) {
    JSON.parse(decoder.decode(Buffer.concat([...rest, chunk.subarray(start, end)])));
    rest = [];
  }
  rest.push(chunk.subarray(start));
}`;

/** Prints the resource usage of a process at its exit. */
const USED = `data:text/javascript,${encodeURIComponent(
  'process.on("exit",()=>{const u=process.resourceUsage();process.stderr.write("\\nUSED "+(u.userCPUTime+u.systemCPUTime)+" "+u.maxRSS)})',
)}`;

/** The minimum: other programs only add time. */
function best(args: readonly string[], home: string): Used {
  let seconds = Number.POSITIVE_INFINITY;
  let cpuSeconds = Number.POSITIVE_INFINITY;
  let megabytes = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const env = {
      ...process.env,
      HOME: home,
      CLAUDE_CONFIG_DIR: home,
      CODEX_HOME: home,
      XDG_DATA_HOME: home,
    };
    const startMs = performance.now();
    const { stderr } = spawnSync(process.execPath, ["--import", USED, ...args], { env, encoding: "utf8" });
    seconds = Math.min(seconds, (performance.now() - startMs) / 1_000);
    const used = /USED (\d+) (\d+)/.exec(stderr);
    if (used === null) throw new Error(`${args.join(" ")} did not end: ${stderr.slice(-500)}`);
    cpuSeconds = Math.min(cpuSeconds, Number(used[1]) / 1e6);
    megabytes = Math.max(megabytes, Number(used[2]) / 1024);
  }
  return { seconds, cpuSeconds, megabytes };
}

interface Used {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly megabytes: number;
}

const ROUNDS = 2;

async function writeSession(path: string, lines: Iterable<object>): Promise<void> {
  const file = createWriteStream(path);
  let bytes = 0;
  for (const line of lines) {
    const text = `${JSON.stringify(line)}\n`;
    bytes += text.length;
    if (!file.write(text)) await new Promise<void>((resolve) => file.once("drain", () => resolve()));
    if (bytes >= MEGABYTES * 1e6) break;
  }
  file.end();
  await finished(file);
}

const SESSION = "5a8f1c9e-0000-4000-8000-000000000000";

/** Where each agent keeps its sessions, for the verb that finds the newest. */
const WRITERS: Readonly<Record<string, Writer>> = {
  "claude-code": { place: `projects/-home-someone-project/${SESSION}.jsonl`, write: claudeCodeLines },
  codex: { place: `sessions/2026/01/01/rollout-2026-01-01T00-00-00-${SESSION}.jsonl`, write: codexLines },
};

interface Writer {
  readonly place: string;
  readonly write: () => Generator<object>;
}

const WINDOW_CHARS = 640_000;
const OUTPUT_CHARS = [800, 3_000, 9_000, 30_000] as const;
const FOLDER = "/home/someone/project";

/** Text of this length, all lines different, from another place each time. */
function text(chars: number, place: number): string {
  const start = (place * 7_919) % (POOL.length - 40_000);
  return POOL.slice(start, start + chars);
}

const POOL = Array.from(
  { length: 6_000 },
  (_, line) => `src/part-${line % 97}/file-${line}.ts:${line}: const value${line} = read("${line * 31}");`,
).join("\n");

function timeOf(step: number): string {
  return new Date(1_767_225_600_000 + step * 1_000).toISOString();
}

function* claudeCodeLines(): Generator<object> {
  let count = 0;
  let parentUuid: string | null = null;
  const line = (more: object): object => {
    const uuid = `00000000-0000-4000-8000-${`${++count}`.padStart(12, "0")}`;
    const own = { parentUuid, isSidechain: false, cwd: FOLDER, sessionId: SESSION, version: "2.1.0", uuid };
    parentUuid = uuid;
    return { ...own, timestamp: timeOf(count), ...more };
  };
  let windowChars = 0;
  for (let turn = 1; ; turn++) {
    if (turn % 6 === 1)
      yield line({ type: "user", message: { role: "user", content: `Do number ${turn}.` } });
    const id = `toolu_${turn}`;
    const usage = { input_tokens: 4, output_tokens: 120, cache_read_input_tokens: windowChars >> 2 };
    const answer = { id: `msg_${turn}`, role: "assistant", model: "claude-sonnet-4-5", usage };
    const input =
      turn % 3 === 0 ? { file_path: `${FOLDER}/src/${turn % 50}.ts` } : { command: `npm test ${turn}` };
    const call = { type: "tool_use", id, name: turn % 3 === 0 ? "Read" : "Bash", input };
    yield line({
      type: "assistant",
      message: { ...answer, content: [{ type: "text", text: text(150, turn) }] },
    });
    yield line({ type: "assistant", message: { ...answer, stop_reason: "tool_use", content: [call] } });
    const stdout = text(OUTPUT_CHARS[turn % 4] ?? 0, turn);
    const result = { type: "tool_result", tool_use_id: id, content: stdout };
    yield line({ type: "user", message: { role: "user", content: [result] }, toolUseResult: { stdout } });
    windowChars += stdout.length + 500;
    if (windowChars < WINDOW_CHARS) continue;
    windowChars = 0;
    const logicalParentUuid = parentUuid;
    parentUuid = null;
    const compactMetadata = { trigger: "auto", preTokens: 160_000 };
    yield line({ type: "system", subtype: "compact_boundary", logicalParentUuid, compactMetadata });
    yield line({
      type: "user",
      isCompactSummary: true,
      message: { role: "user", content: text(6_000, turn) },
    });
  }
}

function* codexLines(): Generator<object> {
  let count = 0;
  const line = (type: string, payload: object): object => ({ timestamp: timeOf(++count), type, payload });
  const item = (payload: object): object => line("response_item", payload);
  const typed = (said: string) => ({
    type: "message",
    role: "user",
    content: [{ type: "input_text", text: said }],
  });
  yield line("session_meta", { id: SESSION, cwd: FOLDER, cli_version: "0.50.0", model_provider: "openai" });
  let windowChars = 0;
  for (let turn = 1; ; turn++) {
    if (turn % 6 === 1) {
      yield line("turn_context", { cwd: FOLDER, model: "gpt-5-codex" });
      yield item(typed(`Do number ${turn}.`));
    }
    yield item({ type: "reasoning", summary: [{ type: "summary_text", text: text(150, turn) }] });
    const args = JSON.stringify({ command: ["bash", "-lc", `cat src/${turn % 50}.ts`] });
    const call_id = `call_${turn}`;
    yield item({ type: "function_call", name: "shell", arguments: args, call_id });
    const output = text(OUTPUT_CHARS[turn % 4] ?? 0, turn);
    yield line("event_msg", { type: "exec_command_end", call_id, stdout: output });
    yield item({ type: "function_call_output", call_id, output });
    windowChars += output.length + 500;
    const input_tokens = windowChars >> 2;
    const last_token_usage = { input_tokens, cached_input_tokens: input_tokens - 900, output_tokens: 120 };
    const info = { total_token_usage: { output_tokens: turn * 120 }, last_token_usage };
    yield line("event_msg", { type: "token_count", info: { ...info, model_context_window: 272_000 } });
    if (windowChars < WINDOW_CHARS) continue;
    windowChars = 0;
    yield line("compacted", { message: text(6_000, turn), replacement_history: [typed(text(4_000, turn))] });
  }
}
