import type { ScriptedCall } from "../../rig/model-server/step.ts";
import type { HostRig, HostToolCalls } from "../harness/host-rig.ts";

/** One kind of tool output: what the tool prints, and what a reader must find in it. */
export interface OutputKind {
  readonly name: string;
  /** The content of a file of the project, under the kind's name. */
  readonly file?: string | Uint8Array;
  /** The call that prints it. */
  readonly call: Omit<ScriptedCall, "id">;
  /** Short texts that a reader looks for: where the bare host shows one, it must still be there. */
  readonly wants?: readonly string[];
}

/** A tool of another plugin: prints a file of the project. */
export const SHOW_PROBE = `import { readFile } from "node:fs/promises";
export default { id: "show", server: async ({ directory }) => ({ tool: {
  show: {
    description: "Shows a file",
    args: { name: { type: "string" } },
    execute: async ({ name }) => readFile(directory + "/" + name, "utf8"),
  },
} }) };`;

/** The same tool on an MCP server, whose outputs reach plugins before the host makes text of them. */
export const SHOW_SERVER = `import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const tool = { name: "show", inputSchema: { type: "object", properties: { name: { type: "string" } } } };
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "show", version: "1" } }),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": (params) => ({ content: [{ type: "text", text: readFileSync(params.arguments.name, "utf8") }] }),
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method]?.(params) ?? {} }));
});`;

/** Notes what the host made of each output, before the plugins behind it see it; for both versions of OpenCode. */
export const NOTE_PROBE = `import { writeFileSync } from "node:fs";
const note = (directory, sessionId, callId, text) =>
  writeFileSync(directory + "/../noted-" + sessionId + "-" + callId, text);
export default {
  id: "note",
  server: async ({ directory }) => ({
    "tool.execute.after": async ({ sessionID, callID }, { output }) => {
      if (typeof output === "string") note(directory, sessionID, callID, output);
    },
  }),
  async setup(ctx) {
    if (ctx.tool?.hook === undefined) return;
    const { directory } = (await ctx.agent.list()).location;
    await ctx.tool.hook("execute.after", async ({ sessionID, id, result }) => {
      const content = result?.content;
      const text = typeof content === "string" ? content : content?.map((part) => part.text ?? "").join("\\n");
      if (text !== undefined) note(directory, sessionID, id, text);
    });
  },
};`;

/** Where that is noted. */
export function noteFile(
  project: string,
  call: { readonly sessionId: string; readonly callId: string },
): string {
  return `${project}/../noted-${call.sessionId}-${call.callId}`;
}

/** All kinds, with the calls of a host's own tools. */
export function outputKinds({ tools, sandbox }: Pick<HostRig, "tools" | "sandbox">): readonly OutputKind[] {
  const printer: Printer = {
    printed: (name, file, wants = [DONE]) => ({ name, file, call: tools.run(`cat '${name}'`), wants }),
    run: (command, more = {}) => {
      const { tool, input } = tools.run(command);
      return { tool, input: { ...(input as object), ...more } };
    },
  };
  return [
    ...shortKinds(printer),
    ...longKinds(printer),
    ...noisyKinds(printer),
    ...encodedKinds(printer),
    ...otherTools(sandbox.project, tools),
  ];
}

interface Printer {
  /** What a command prints, from a file. */
  printed(name: string, file: string | Uint8Array, wants?: readonly string[]): OutputKind;
  run(command: string, more?: object): OutputKind["call"];
}

const DONE = "the end: 3 failed, 17 passed";
const ESC = "\u001b";

const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => `${line(index)}\n`).join("");

const logLine = (index: number): string =>
  `${index} 12:00:01 INFO worker ${index % 7} took job ${index * 31}`;

function ofBytes(bytes: number): string {
  const text = lines(Math.ceil(bytes / 40) + 10, logLine).slice(0, bytes - DONE.length - 2);
  return `${text}\n${DONE}\n`;
}

function shortKinds({ printed, run }: Printer): readonly OutputKind[] {
  return [
    printed("one line", `${DONE}\n`),
    printed("nothing", "", []),
    printed("no line break at the end", `first\n${DONE}`),
    printed("short CRLF", `first\r\nsecond\r\n${DONE}\r\n`),
    printed("short colours", `${ESC}[32mok${ESC}[0m\n${ESC}[31m${DONE}${ESC}[0m\n`),
    printed("short progress", `${progress(40)}\n${DONE}\n`),
    printed("short emoji", `👩‍👩‍👧‍👦 🏳️‍🌈 1️⃣ é\u0301\n${DONE}\n`),
    printed("byte order mark", `\ufeffname;value\n\u200ba;1\n${DONE}\n`),
    printed("short NULs", `a\0b\0c\0\n${DONE}\n`),
    printed("short overstrike", `N\bNA\bAM\bME\bE\n${DONE}\n`),
    printed("old Mac lines", `first\rsecond\r${DONE}\r`),
    printed("form feeds", `page 1\fpage 2\v\n${DONE}\n`),
    printed(
      "links and titles",
      `${ESC}]0;title\u0007${ESC}]8;;http://x${ESC}\\link${ESC}]8;;${ESC}\\\n${DONE}\n`,
    ),
    printed("right to left", `\u200fשלום\u200e ok\n${DONE}\n`),
    printed("tabs and blanks", `\ta\t  \n   \n${DONE}   \n`),
    { name: "only errors", call: run(`echo '${DONE}' >&2`), wants: [DONE] },
    { name: "a failing command", call: run(`echo '${DONE}'; exit 3`), wants: [DONE] },
    printed("short JSON", `${JSON.stringify({ a: [1, 2, { b: null }] }, null, 2)}\n`, ['"b": null']),
  ];
}

function longKinds({ printed, run }: Printer): readonly OutputKind[] {
  return [
    printed("2,000 lines", lines(1_999, (index) => `${index}`) + DONE),
    printed("2,000 lines and a line break", `${lines(1_999, (index) => `${index}`)}${DONE}\n`),
    printed("2,001 lines", `${lines(2_000, (index) => `${index}`)}${DONE}\n`),
    printed("2,100 lines", `${lines(2_099, logLine)}${DONE}\n`),
    printed("6,000 lines", `${lines(5_999, logLine)}${DONE}\n`),
    printed("51,200 bytes", ofBytes(51_200)),
    printed("51,201 bytes", ofBytes(51_201)),
    printed("52,000 bytes", ofBytes(52_000)),
    printed("100 KB", ofBytes(100_000)),
    printed("300 KB", ofBytes(300_000)),
    printed("2 MB", ofBytes(2_000_000)),
    printed("a line of 10 MB", `${"abcdefghi ".repeat(1_000_000)}${DONE}`),
    printed("a line of 10 MB and a line break", `${"abcdefghi ".repeat(1_000_000)}${DONE}\n`),
    printed("two lines of 1 MB", `${"x".repeat(1_000_000)}\n${"y".repeat(1_000_000)}${DONE}\n`),
    printed("a long line and a short one", `${"z".repeat(400_000)}\n${DONE}\n`),
    printed(
      "minified JSON",
      `${JSON.stringify(Array.from({ length: 9_000 }, (_, id) => ({ id, name: `n${id}` })))}\n`,
      [],
    ),
    printed(
      "wrapped base64",
      `${lines(5_000, (index) => `${"QUJDREVG".repeat(9)}${index % 10}abc`)}${DONE}\n`,
    ),
    printed("the same line", `${"warning: unused variable\n".repeat(60_000)}${DONE}\n`),
    printed("empty lines", `${"\n".repeat(100_000)}${DONE}\n`),
    printed("blanks", `${" ".repeat(120_000)}\n${DONE}\n`),
    {
      name: "long and failing",
      file: ofBytes(200_000),
      call: run("cat 'long and failing'; exit 2"),
      wants: [DONE],
    },
    {
      name: "long and out of time",
      file: ofBytes(200_000),
      call: run("cat 'long and out of time'; sleep 30", { timeout: 1_500 }),
      wants: [DONE, "exceeding timeout"],
    },
  ];
}

const WORDS = "old tired happy green hungry silent dog hamster bird gardener sings walks sleeps".split(" ");

const proseLines = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => {
    const word = (of: number): string => WORDS[Math.floor(index / of) % WORDS.length] ?? "";
    return index % 10 === 0
      ? `the tired hamster of ${index}`
      : `${word(1)} ${word(13)} ${word(5)} and the ${word(3)}`;
  });

function progress(steps: number): string {
  return Array.from({ length: steps + 1 }, (_, step) => {
    const percent = Math.floor((step * 100) / steps);
    return `\r${"#".repeat(percent).padEnd(100, ".")} ${percent}% of ${steps} files`;
  }).join("");
}

function noisyKinds({ printed }: Printer): readonly OutputKind[] {
  const spinner = Array.from(
    { length: 9_000 },
    (_, step) => `${ESC}[2K${ESC}[1G${"|/-\\"[step % 4]} ${step}`,
  );
  const colours = lines(6_000, (index) => `${ESC}[38;5;${index % 256}m${logLine(index)}${ESC}[0m`);
  return [
    printed("1 MB of progress", progress(10_000), ["100% of 10000 files"]),
    printed("1 MB of progress and a line break", `${progress(10_000)}\n`, ["100% of 10000 files"]),
    printed("1 MB of progress and a report", `${progress(10_000)}\n${DONE}\n`),
    printed("60 KB of progress", `${progress(500)}\n${DONE}\n`),
    printed("progress of many files", `${lines(300, (file) => `${file}${progress(12)}`)}${DONE}\n`),
    printed("long colours", `${colours}${DONE}\n`),
    printed("a spinner", `${spinner.join("")}\n${DONE}\n`),
    printed("long overstrike", `${"N\bNA\bAM\bME\bE ".repeat(9_000)}\n${DONE}\n`),
    printed("long CRLF", ofBytes(200_000).replaceAll("\n", "\r\n")),
    printed("long old Mac lines", `${proseLines(3_000).join("\r")}\r${DONE}\r`, [
      DONE,
      "the tired hamster of 2990",
    ]),
    printed(
      "long NULs",
      `${Array.from({ length: 9_000 }, (_, index) => `./folder/file-${index}.txt`).join("\0")}\0`,
      ["file-8999.txt"],
    ),
    printed("zeros", `${"\0".repeat(200_000)}\n${DONE}\n`),
  ];
}

function encodedKinds({ printed }: Printer): readonly OutputKind[] {
  const latin = "Größe geändert: über Öl, naïveté déjà vue à l'été\n";
  const accents = "éàèùçâêîôûäëïöü ";
  return [
    printed("short Latin-1", Buffer.from(`${latin}${DONE}\n`, "latin1")),
    printed("short accents in Latin-1", Buffer.from(`${accents}\n${DONE}\n`, "latin1")),
    printed("long Latin-1", Buffer.from(`${latin.repeat(4_000)}${DONE}\n`, "latin1")),
    printed(
      "long accents in Latin-1",
      Buffer.from(`${`${accents.repeat(4)}\n`.repeat(3_000)}${DONE}\n`, "latin1"),
    ),
    printed(
      "Windows quotes",
      Buffer.from(`${"\x93quoted\x94 it\x92s \x96 ok\n".repeat(9_000)}${DONE}\n`, "latin1"),
    ),
    printed("short UTF-16", Buffer.from(`\ufeffname;value\n${DONE}\n`, "utf16le"), []),
    printed("long UTF-16", Buffer.from(`\ufeff${ofBytes(100_000)}`, "utf16le"), []),
    printed(
      "Shift-JIS",
      Buffer.from(`${"\x93\xfa\x96\x7b\x8c\xea path/to/file.c:12\n".repeat(5_000)}${DONE}\n`, "latin1"),
    ),
    printed("short GBK", Buffer.from(`\xc4\xe3\xba\xc3\xca\xc0\xbd\xe7\n${DONE}\n`, "latin1")),
    printed("long emoji", `${"👩‍👩‍👧‍👦 🏳️‍🌈 ✅ ok\n".repeat(5_000)}${DONE}\n`),
    printed("a line of emoji", `${"😀".repeat(60_000)}${DONE}`),
    printed("long Chinese", `${"编译成功，没有警告\n".repeat(6_000)}${DONE}\n`),
    printed("Chinese before emoji", `${"😀".repeat(30_000)}\n${"编译成功\n".repeat(9_000)}${DONE}\n`),
    printed("combining marks", `${"e\u0301\u0323\u0308 ".repeat(20_000)}\n${DONE}\n`),
    printed("short binary", randomBytes(2_000), []),
    printed("long binary and a report", Buffer.concat([randomBytes(200_000), Buffer.from(`\n${DONE}\n`)])),
  ];
}

function otherTools(project: string, tools: HostToolCalls): readonly OutputKind[] {
  const shown = (name: string, file: string, wants: readonly string[] = []): OutputKind => ({
    name,
    file,
    call: { tool: "show", input: { name } },
    wants,
  });
  const served = (name: string, file: string): OutputKind => ({
    name,
    file,
    call: { tool: "served_show", input: { name } },
    wants: ["first"],
  });
  const read = (name: string, file: string | Uint8Array, wants: readonly string[]): OutputKind => ({
    name,
    file,
    call: tools.read(`${project}/${name}`),
    wants,
  });
  return [
    shown("shown, short", `first\n${DONE}\n`, [DONE]),
    shown("shown, 6,000 lines", `first line\n${lines(6_000, logLine)}`, ["first line"]),
    shown("shown, a line of 300 KB", "abc ".repeat(75_000)),
    shown("shown, long colours", `${ESC}[31mfirst line${ESC}[0m\n`.repeat(6_000), ["first line"]),
    shown("shown, progress", `${progress(2_000)}\n${DONE}\n`),
    read("read, 6,000 lines", lines(6_000, logLine), ["1000: 999 ", "2000: 1999 ", "offset=2001"]),
    read(
      "read, 2,000 wide lines",
      lines(2_000, (index) => `${index} ${"w".repeat(60)}`),
      ["700: 699 ", "offset="],
    ),
    read(
      "read, 1,900 short lines",
      lines(1_900, (index) => `${index}`),
      ["950: 949", "1900: 1899"],
    ),
    read("read, a line of 1 MB", "r".repeat(1_000_000), []),
    read("read, Latin-1", Buffer.from(latinFile(), "latin1"), ["50: "]),
    read("read, CRLF", ofBytes(3_000).replaceAll("\n", "\r\n"), [DONE]),
    served("served, short", `first\n${DONE}\n`),
    served("served, 6,000 lines", `first line\n${lines(6_000, logLine)}`),
  ];
}

const latinFile = (): string => "Größe geändert: über Öl\n".repeat(100);

/** The same bytes in every run. */
function randomBytes(count: number): Uint8Array {
  let state = 7;
  return Uint8Array.from({ length: count }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return (state >> 16) & 0xff;
  });
}
