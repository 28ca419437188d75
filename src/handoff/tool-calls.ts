import {
  asArray,
  asObject,
  asString,
  isObject,
  omitUndefined,
  type UnknownObject,
} from "../text/unknown-value.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { ToolPart } from "../transcript/part.ts";

/**
 * The calls of a transcript under the names that the receiving agent offers. A provider may refuse a call of a tool that
 * is not offered, and a model repeats what it sees; so a call becomes the receiver's own where both have such a tool,
 * and a comment in the receiver's shell where it has none: nothing is lost, and nothing runs. In a session of the same
 * agent calls stay as they are, but for those that older versions had under other names.
 */
export function translateCalls(
  transcript: Transcript,
  offered: OfferedTools,
  calls: "translated" | "kept" = "translated",
): TranslatedCalls {
  let translated = 0;
  const foreign = new Set<string>();
  let commented = 0;
  const translate = (part: ToolPart): ToolPart => {
    const meaning = meaningOf(part);
    const write = meaning && offered[meaning.does];
    if (meaning && write) {
      const [tool, input] = write(meaning as never);
      if (calls === "kept" && tool === part.tool) return part;
      if (tool !== part.tool) translated++;
      return { ...part, tool, input };
    }
    if (calls === "kept" && isObject(part.input)) return part;
    // A patch of Codex is a text, which its writer knows.
    if (calls === "kept" && part.tool === "apply_patch") return { ...part, input: { input: part.input } };
    foreign.add(shownName(part.tool));
    commented++;
    const [tool, input] = offered.run({ does: "run", command: asComment(part) });
    return { ...part, tool, input };
  };
  const messages = transcript.map((message): Message => {
    if (!message.parts.some(({ type }) => type === "tool")) return message;
    return {
      ...message,
      parts: message.parts.map((part) => (part.type === "tool" ? translate(part) : part)),
    };
  });
  return { messages, translated, foreign: [...foreign], commented };
}

interface TranslatedCalls {
  readonly messages: Transcript;
  /** Calls that have another name now. */
  readonly translated: number;
  /** Tools of which calls have no counterpart in the receiver. */
  readonly foreign: readonly string[];
  /** Such calls. */
  readonly commented: number;
}

/** A call as a comment of a shell, on one line: it names the tool and what it was given. */
function asComment({ tool, input }: ToolPart): string {
  const given = JSON.stringify(input ?? {}).replace(BREAKS, " ");
  return `# ${shownName(tool)} ${given}`;
}

/** What JSON leaves as it is, and some shells or terminals take for the end of a line or a command. */
const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

/** The name of a tool, which a model or a server may have chosen: short, on one line, and nothing that a shell reads. */
function shownName(tool: string): string {
  return tool.slice(0, MAX_NAME_CHARS).replace(/[^\p{L}\p{N}_.:/@+-]+/gu, "_") || "unnamed";
}

const MAX_NAME_CHARS = 64;

/** What a call does, where every agent has a tool for it. */
type Meaning =
  | { readonly does: "run"; readonly command: string }
  | { readonly does: "read"; readonly path: string; readonly offset?: number; readonly limit?: number }
  | { readonly does: "write"; readonly path: string; readonly content: string }
  | { readonly does: "edit"; readonly path: string; readonly before: string; readonly after: string };

type Does = Meaning["does"];

/** How an agent names a call, and what it gives it. */
type Written = readonly [tool: string, input: unknown];

/** How an agent writes such calls. */
export type OfferedTools = {
  readonly [Each in Does]?: (meaning: Extract<Meaning, { does: Each }>) => Written;
} & { readonly run: (meaning: Extract<Meaning, { does: "run" }>) => Written };

/** What a call of any agent does; undefined where the names are not known, or where it does more than others can say. */
function meaningOf({ tool, input }: ToolPart): Meaning | undefined {
  const given = asObject(input);
  const name = tool.toLowerCase();
  if (SHELLS.has(name)) return runOf(given);
  const path = asString(given.file_path) ?? asString(given.filePath) ?? asString(given.path);
  if (path === undefined) return undefined;
  switch (name) {
    case "read":
      return omitUndefined({
        does: "read" as const,
        path,
        offset: numberIn(given.offset),
        limit: numberIn(given.limit),
      });
    case "write": {
      const content = asString(given.content);
      return content === undefined ? undefined : { does: "write", path, content };
    }
    case "edit":
      return editOf(path, given);
    default:
      return undefined;
  }
}

const SHELLS: ReadonlySet<string> = new Set([
  "bash",
  "shell",
  "exec_command",
  "shell_command",
  "local_shell",
]);

function runOf({ command, cmd }: UnknownObject): Meaning | undefined {
  const text = asString(cmd) ?? asString(command) ?? wordsOf(command);
  return text === undefined ? undefined : { does: "run", command: text };
}

/** Older Codex gave a list: `["bash", "-lc", "ls"]` means its last word. */
function wordsOf(command: unknown): string | undefined {
  const words = asArray(command).map(asString);
  if (words.length === 0 || words.includes(undefined)) return undefined;
  const isShell = words.length === 3 && /^-\w*c$/.test(words[1] ?? "");
  return isShell ? words[2] : words.join(" ");
}

function editOf(path: string, given: UnknownObject): Meaning | undefined {
  if (given.replace_all === true || given.replaceAll === true) return undefined;
  const edits = asArray(given.edits);
  const one = edits.length === 0 ? given : asObject(edits[0]);
  const before = asString(one.old_string) ?? asString(one.oldString) ?? asString(one.oldText);
  const after = asString(one.new_string) ?? asString(one.newString) ?? asString(one.newText);
  if (edits.length > 1 || before === undefined || after === undefined) return undefined;
  return { does: "edit", path, before, after };
}

function numberIn(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
