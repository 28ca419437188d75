import { readJsonLines } from "../src/formats/lines/read-json-lines.ts";
import { readTranscript } from "../src/formats/read-transcript.ts";
import { printTable } from "./measure.ts";

/** The reader of JSON lines against `JSON.parse` on the same lines, already cut and decoded; its limit is 1.3x. */
export async function benchJsonl(): Promise<void> {
  const rows: string[][] = [["file", "size", "lines", "x JSON.parse", "the transcript", "UTF-8 alone"]];
  for (const { name, lines } of samples()) {
    const bytes = new TextEncoder().encode(`${lines.join("\n")}\n`);
    const parse = async (): Promise<unknown> => {
      let last: unknown;
      for (const line of lines) last = JSON.parse(line);
      return last;
    };
    const [base = 0, reader = 0, whole = 0, text = 0] = await bestMsOf([
      parse,
      () => drain(bytes),
      () => readTranscript(chunked(bytes), { keep: "live" }),
      () => decodeEach(bytes),
    ]);
    const times = [reader, whole, text].map((ms) => `${(ms / base).toFixed(2)}x`);
    const size = `${(bytes.length / 1e6).toFixed(1)} MB`;
    rows.push([name, size, `${lines.length}`, ...times]);
  }
  printTable("JSON lines, as multiples of JSON.parse on the lines (limit 1.3x)", rows);
  printTable("Memory of a 60 MB file of which a tenth is live", await memoryRows());
}

/** The best CPU time of each, run alternately. */
async function bestMsOf(runs: readonly (() => Promise<unknown>)[]): Promise<readonly number[]> {
  const best = runs.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, run] of runs.entries()) {
      const start = cpuMs();
      await run();
      best[index] = Math.min(best[index] ?? 0, cpuMs() - start);
    }
  }
  return best;
}

const ROUNDS = 40;

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
}

const CHUNK_BYTES = 64 * 1024;

async function* chunked(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES)
    yield bytes.subarray(start, start + CHUNK_BYTES);
}

/** The minimum work of any reader: decoding the text of each line. */
async function decodeEach(bytes: Uint8Array): Promise<number> {
  const decoder = new TextDecoder();
  let chars = 0;
  for (let start = 0, end = bytes.indexOf(10); end !== -1; start = end + 1, end = bytes.indexOf(10, start))
    chars += decoder.decode(bytes.subarray(start, end)).length;
  return chars;
}

async function drain(bytes: Uint8Array): Promise<number> {
  let count = 0;
  for await (const batch of readJsonLines(chunked(bytes))) count += batch.length;
  return count;
}

function samples(): readonly { readonly name: string; readonly lines: readonly string[] }[] {
  return [
    { name: "session, one line in six beyond Latin-1", lines: session(3_000, 1_500, 6) },
    { name: "short lines", lines: session(20_000, 40, 6) },
    { name: "outputs of 40 KB, all Latin-1", lines: session(200, 40_000, Number.POSITIVE_INFINITY) },
    { name: "outputs of 40 KB, all beyond Latin-1", lines: session(200, 40_000, 1) },
  ];
}

const OUTPUT = 'src/index.ts:12:  const name = "value"; // a line of code\n';

/** Lines as Claude Code writes them: an action, its progress, its result. */
function session(count: number, outputChars: number, wideEvery: number): readonly string[] {
  const plain = OUTPUT.repeat(Math.ceil(outputChars / OUTPUT.length)).slice(0, outputChars);
  const wide = plain.replaceAll("12:", "12→");
  return Array.from({ length: count }, (_, index) =>
    JSON.stringify(line(index, index % 3, `${index % wideEvery === 0 ? wide : plain}${index}`)),
  );
}

function line(index: number, kind: number, output: string): object {
  const base = {
    parentUuid: index === 0 ? null : `00000000-0000-4000-8000-${index - 1}`,
    isSidechain: false,
    cwd: "/home/someone/project",
    sessionId: "5a8f1c9e-0000-4000-8000-000000000000",
    version: "2.1.0",
    uuid: `00000000-0000-4000-8000-${index}`,
    timestamp: "2026-01-01T00:00:00.000Z",
  };
  const call = `toolu_${index - kind}`;
  if (kind === 1) return { ...base, type: "progress", data: { type: "bash_progress", output } };
  const content =
    kind === 0
      ? [{ type: "tool_use", id: call, name: "Bash", input: { command: "npm test" } }]
      : [{ type: "tool_result", tool_use_id: call, content: output }];
  const message =
    kind === 0
      ? { id: `msg_${index}`, role: "assistant", model: "claude", content }
      : { role: "user", content };
  return {
    ...base,
    type: kind === 0 ? "assistant" : "user",
    message,
    ...(kind === 2 && { toolUseResult: { stdout: output } }),
  };
}

async function memoryRows(): Promise<readonly (readonly string[])[]> {
  return [["kept", "messages", "heap MB"], await memoryOf("all"), await memoryOf("live")];
}

/** The heap after reading, above what it was before, with everything else collected: needs `--expose-gc`. */
async function memoryOf(keep: "all" | "live"): Promise<readonly string[]> {
  const before = heapBytes();
  const file = await readTranscript(mostlyDead(), { keep });
  const after = heapBytes();
  return [keep, `${file.transcript.length}`, ((after - before) / 1e6).toFixed(1)];
}

function heapBytes(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return process.memoryUsage().heapUsed;
}

/** Nine of ten lines are of sub-agents or report progress. */
async function* mostlyDead(): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const output = OUTPUT.repeat(50);
  for (let index = 0; index < 18_000; index++) {
    const kind = index % 10 === 0 ? 0 : 1;
    const own = {
      ...line(index, kind, `${output}${index}`),
      ...(index % 10 > 5 && {
        type: "user",
        isSidechain: true,
        message: { role: "user", content: `${output}${index}` },
      }),
    };
    yield encoder.encode(`${JSON.stringify(own)}\n`);
  }
}
