import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { callAll, type ScriptedCall, type Step, say } from "../model-server/step.ts";

/**
 * A session of sixty calls in a project made of this repository's own sources: modules and logs are read, lines
 * changed, and what was changed is read again. It ends at about 120,000 tokens when nothing leaves the window.
 */
export function createLongSession(): LongSession {
  const rounds = readRounds();
  const files = Object.fromEntries(
    rounds.flatMap(({ main, beside, log }, number) => [
      [main.path, main.text],
      [beside.path, beside.text],
      [logPath(number), log],
    ]),
  );
  return {
    files,
    named: rounds.map(({ named }) => named),
    turns(count, tools = FIRST_TOOLS) {
      const size = rounds.length / count;
      return Array.from({ length: count }, (_, turn) => {
        const played = rounds.slice(turn * size, (turn + 1) * size);
        const names = played.map(({ main, named }) => `${named.name} in ${main.path}`);
        return {
          prompt: `Go through these functions, one after another: ${names.join(", ")}.`,
          steps: [
            ...played.flatMap((round, index) => stepsOf(round, turn * size + index, tools)),
            say(`Done with ${played.map(({ named }) => named.name).join(", ")}.`),
          ],
        };
      });
    },
  };
}

export interface LongSession {
  /** The files of the project. */
  readonly files: Readonly<Record<string, string>>;
  /** The function that each round is about, with the line that declares it. */
  readonly named: readonly NamedFunction[];
  /** All of it in one turn of the user, or in as many as divide its twelve rounds. */
  turns(count: 1 | 2 | 3 | 4 | 6 | 12, tools?: FileTools): readonly LongTurn[];
}

/** How a host reads and changes files. */
export interface FileTools {
  read(path: string): ScriptedCall;
  edit(path: string, before: string, after: string): ScriptedCall;
}

/** Those of OpenCode 1. */
const FIRST_TOOLS: FileTools = {
  read: (filePath) => ({ tool: "read", input: { filePath } }),
  edit: (filePath, oldString, newString) => ({ tool: "edit", input: { filePath, oldString, newString } }),
};

export interface NamedFunction {
  readonly name: string;
  readonly line: string;
}

export interface LongTurn {
  readonly prompt: string;
  readonly steps: readonly Step[];
}

interface Round {
  readonly main: Source;
  readonly beside: Source;
  readonly log: string;
  readonly named: NamedFunction;
}

interface Source {
  readonly path: string;
  readonly text: string;
}

const ROUNDS = 12;

/** Five calls. The last read shows all that the first one showed. */
function stepsOf({ main, beside, named }: Round, number: number, tools: FileTools): readonly Step[] {
  const call = (made: ScriptedCall, text?: string): Step =>
    callAll([made], text === undefined ? {} : { text });
  return [
    call(tools.read(main.path), `${named.name} is declared in ${main.path}.`),
    call(tools.read(logPath(number)), "The log of its tests comes next."),
    call(tools.read(beside.path), "What it uses is in the next file."),
    call(tools.edit(main.path, named.line, `// Looked at in round ${number + 1}.\n${named.line}`)),
    call(tools.read(main.path), "I look at the result."),
  ];
}

function logPath(number: number): string {
  return `logs/run-${number + 1}.txt`;
}

function readRounds(): readonly Round[] {
  const sources = ["stages", "text", "tool-output", "compaction"].flatMap((room) =>
    sourcesOf(join("src", room)),
  );
  return sources.slice(0, ROUNDS).map((main, number) => ({
    main,
    beside: sources[ROUNDS + number] as Source,
    log: testLog(main.path),
    named: namedIn(main.text),
  }));
}

/** Modules that one read shows whole. */
function sourcesOf(folder: string): readonly Source[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .sort()
    .map((name) => ({ path: join(folder, name), text: readFileSync(join(folder, name), "utf8") }))
    .filter(({ text }) => text.length > 8_000 && text.length < 14_000 && DECLARED.test(text));
}

const DECLARED = /^export function (\w+).*$/m;

function namedIn(text: string): NamedFunction {
  const [line = "", name = ""] = DECLARED.exec(text) ?? [];
  return { name, line };
}

function testLog(path: string): string {
  const lines = Array.from(
    { length: 90 },
    (_, n) => ` ✓ ${path} > case ${n}: holds for inputs of ${n * 37} rows`,
  );
  return [...lines, `Tests  ${lines.length} passed (${lines.length})`, ""].join("\n");
}
