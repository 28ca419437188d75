import { compact } from "../../compaction/compact.ts";
import { planCompaction } from "../../compaction/plan/plan-compaction.ts";
import type { Clock, Summarizer } from "../../compaction/ports/summarizer.ts";
import { fileChanges, NO_FILES, recordFiles } from "../../stages/file-access.ts";
import { clipLine } from "../../text/clip.ts";
import { normalizeTypedText } from "../../text/normalize.ts";
import { asObject, asString } from "../../text/unknown-value.ts";
import {
  isSummary,
  isVisibleToModel,
  type Message,
  messageText,
  type Transcript,
  typedText,
  withUniqueIds,
} from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";
import { callsOf, outputOf, plainLengths, plainMessages } from "../probe/history-text.ts";
import { splitAtCompactions } from "../probe/places.ts";
import { shareOf } from "../probe/score-text.ts";
import { lastChars } from "./policies.ts";

/** What remains of a session after several compactions, and how correct the list of files is. */
export interface DriftMeasure {
  readonly points: readonly DriftPoint[];
  readonly files: LedgerScore | undefined;
}

/** What the window holds after so many compactions, as shares; undefined where the session has none of it. */
export interface DriftPoint {
  readonly way: DriftWay;
  readonly compactions: number;
  /** Messages of the user, word for word. */
  readonly instructions: number | undefined;
  readonly pins: number | undefined;
  /** Files that the session created, changed or deleted, by path. */
  readonly files: number | undefined;
  /** Errors of calls that did not succeed later, by their first line. */
  readonly errors: number | undefined;
}

/** `summaries` are those that the agents' own models wrote in the session. */
export type DriftWay = "local-summary" | "forgetful-model" | "last-N" | "summaries";

const ROUNDS: readonly number[] = [1, 2, 5, 10];
const MIN_CALLS = 50;

/** Compacts a session repeatedly and measures what of its history the model still sees. */
export async function measureDrift({
  transcript,
}: {
  readonly transcript: Transcript;
}): Promise<DriftMeasure> {
  const stretches = splitAtCompactions(transcript);
  const messages = withUniqueIds(stretches.flat().filter((message) => !isSummary(message)));
  if (callsOf(messages).length < MIN_CALLS) return { points: [], files: undefined };
  const points: DriftPoint[] = [];
  const ways = [
    ["local-summary", undefined],
    ["forgetful-model", FORGETFUL],
  ] as const;
  for (const [way, summarizer] of ways) {
    for (const { compactions, seen, text } of await compactInARow(messages, summarizer)) {
      const truth = createTruth(seen);
      points.push({ way, compactions, ...truth(text) });
      if (way !== "local-summary") continue;
      const newest = lastChars(plainMessages(seen).join(""), text.length);
      points.push({ way: "last-N", compactions, ...truth(newest) });
    }
  }
  let before: Message[] = [];
  for (const [index, stretch] of stretches.entries()) {
    const summary = stretch[0];
    if (index > 0 && summary !== undefined && isSummary(summary)) {
      const { pins: _, ...left } = createTruth(before)(messageText(summary));
      points.push({ way: "summaries", compactions: index, pins: undefined, ...left });
    }
    before = [...before, ...stretch.filter((message) => !isSummary(message))];
  }
  return { points, files: scoreLedger(messages) };
}

/** Pinned texts, which every compaction must keep. */
const PINS: readonly string[] = [
  "Never push to the branch main without being asked.",
  "The port of the test database is 54329; its password is in the keychain.",
];

/** A model whose summaries say nothing of the session. */
const FORGETFUL: Summarizer = {
  summarize: async () =>
    "## Goal\nGo on with the work that the user asked for.\n\n## Progress\n- Several steps were done.",
};

/** No time passes while texts are measured. */
const CLOCK: Clock = {
  now: () => 0,
  sleep: (_, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    }),
};

interface AfterCompaction {
  readonly compactions: number;
  /** The part of the session that was compacted until here. */
  readonly seen: Transcript;
  /** What the model sees. */
  readonly text: string;
}

/**
 * Compacts one tenth of the session after another, without a tail. Reads and searches of the session are added before
 * each part, so that each compaction has a long window, as agents' compactions do.
 */
async function compactInARow(
  messages: Transcript,
  summarizer: Summarizer | undefined,
): Promise<readonly AfterCompaction[]> {
  const after: AfterCompaction[] = [];
  const looks = messages.flatMap(looksOf);
  const lengths = plainLengths(looks);
  let fillerChars = 0;
  const filler = looks.filter((_, index) => {
    const chars = lengths[index] ?? 0;
    if (fillerChars + chars > FILLER_CHARS) return false;
    fillerChars += chars;
    return true;
  });
  let window: Transcript = [];
  for (let compactions = 1; compactions <= MOST_ROUNDS; compactions++) {
    const [from = 0, to] = [compactions - 1, compactions].map((part) =>
      Math.floor((part * messages.length) / MOST_ROUNDS),
    );
    const again = filler.map((message) => ({ ...message, id: `${message.id}-${compactions}` }));
    window = [...window.filter(isVisibleToModel), ...again, ...messages.slice(from, to)];
    const plan = planCompaction({
      transcript: window,
      trigger: "manual",
      limits: { contextTokens: 200_000, outputTokens: 8_000 },
      tailTokens: 0,
      pins: PINS.map((text) => ({ text })),
      redaction: "off",
    });
    const outcome = await compact(plan, { clock: CLOCK, ...(summarizer && { summarizer }) }, { at: 0 });
    if (outcome.status === "compacted") window = outcome.messages;
    if (!ROUNDS.includes(compactions)) continue;
    const text = plainMessages(window.filter(isVisibleToModel)).join("");
    after.push({ compactions, seen: messages.slice(0, to), text });
  }
  return after;
}

const MOST_ROUNDS = 10;
const FILLER_CHARS = 150_000;

/** The message reduced to its successful calls that changed nothing; an empty list when it has none. */
function looksOf(message: Message): readonly Message[] {
  const parts = message.parts.filter(
    (part) =>
      part.type === "tool" &&
      part.outcome.status === "done" &&
      fileChanges(part).every(({ type }) => type === "read"),
  );
  return message.role === "assistant" && parts.length > 0 ? [{ ...message, parts }] : [];
}

type Left = Pick<DriftPoint, "instructions" | "pins" | "files" | "errors">;

/** Creates a function that tells what of the important facts of a history a text contains. */
function createTruth(messages: Transcript): (text: string) => Left {
  const instructions = messages
    .map(typedText)
    .filter((text) => text.trim() !== "" && text.length <= MAX_INSTRUCTION_CHARS);
  const files = [...editedFiles(messages).keys()];
  const errors = openErrors(messages);
  return (text) => {
    const plain = squeeze(text);
    const has = (wanted: string): boolean => plain.includes(squeeze(wanted));
    return {
      instructions: shareOf(instructions.map(has)),
      pins: shareOf(PINS.map(has)),
      files: shareOf(files.map(has)),
      errors: shareOf(errors.map(has)),
    };
  };
}

/** A longer message was pasted, not typed. */
const MAX_INSTRUCTION_CHARS = 8_000;

/** Ignores differences in blanks, fences and terminal colors. */
function squeeze(text: string): string {
  return normalizeTypedText(text).replaceAll("&lt;", "<").replace(/\s+/g, " ").trim();
}

/** First lines of errors of calls that later did not succeed. */
function openErrors(messages: Transcript): readonly string[] {
  const open = new Map<string, string>();
  for (const part of callsOf(messages)) {
    const key = `${part.tool}\n${targetOf(part)}`;
    if (part.outcome.status === "done") open.delete(key);
    else if (part.outcome.status === "failed")
      open.set(key, clipLine(part.outcome.error.trim().split("\n")[0] ?? "", MAX_ERROR_CHARS));
  }
  return [...new Set(open.values())].filter((line) => line !== "").slice(-MAX_ERRORS);
}

const MAX_ERROR_CHARS = 160;
/** Only the newest errors count as open. */
const MAX_ERRORS = 5;

function targetOf({ input }: ToolPart): string {
  const { file_path, filePath, path, command, cmd } = asObject(input);
  return (
    asString(file_path) ?? asString(filePath) ?? asString(path) ?? asString(command) ?? asString(cmd) ?? ""
  );
}

/** How a session left a file; `written`: created or changed, its tool does not say which. */
type EditedState = "created" | "changed" | "written" | "deleted";

/** File changes as reported in tool outputs, which the list of files does not read. */
export function editedFiles(messages: Transcript): ReadonlyMap<string, EditedState> {
  const files = new Map<string, EditedState>();
  const set = (path: string, state: EditedState): void => {
    const before = files.get(path);
    // What was created stays so until it is deleted.
    files.set(path, before === "created" && state !== "deleted" ? before : state);
  };
  for (const part of callsOf(messages)) {
    if (part.outcome.status !== "done") continue;
    const output = outputOf(part) ?? "";
    for (const [pattern, state] of SAID) {
      const path = pattern.exec(output)?.[1];
      if (path !== undefined) set(path, state);
    }
    for (const [, letter = "", path = ""] of patchedFiles(output)) set(path, LETTERS[letter] ?? "changed");
    if (/^(?:Edit applied|Wrote file) successfully/.test(output))
      set(targetOf(part), output.startsWith("Edit") ? "changed" : "written");
    const removed = PLAIN_REMOVAL.exec(targetOf(part))?.[1];
    if (removed !== undefined) for (const path of removed.split(/ +/)) set(path, "deleted");
  }
  return files;
}

const SAID: readonly (readonly [RegExp, EditedState])[] = [
  [/^File created successfully at: ((?:\/|[A-Z]:\\)[^\n]+?)(?: \(|\n|$)/, "created"],
  [/^The file ((?:\/|[A-Z]:\\)[^\n]+?) has been updated/, "changed"],
  [/^Successfully replaced .{1,20} in ((?:\/|[A-Z]:\\)[^\n]+?)\.(?:\s|$)/, "changed"],
  [/^Successfully wrote \d+ bytes to ((?:\/|[A-Z]:\\)[^\n]+)/, "written"],
  [/^Successfully created and wrote to new file: ((?:\/|[A-Z]:\\)[^\n]+?)\.?(?:\s|$)/, "created"],
  [/^Successfully (?:overwrote|modified) file: ((?:\/|[A-Z]:\\)[^\n]+?)\.?(?:\s|$)/, "changed"],
];
const LETTERS: Readonly<Record<string, EditedState>> = { A: "created", M: "changed", D: "deleted" };
/** A command that does nothing but remove files by their whole paths. */
const PLAIN_REMOVAL = /^(?:git )?rm (?:-\w+ )*(\/[\w./-]+(?: \/[\w./-]+)*)$/;

function patchedFiles(output: string): readonly (readonly string[])[] {
  const list = output.split("Updated the following files:")[1]?.replaceAll("\\n", "\n") ?? "";
  return [...list.matchAll(/^([AMD]) ([^\n"]+)$/gm)];
}

/** How well the list of files agrees with tool outputs. */
export interface LedgerScore {
  /** Files that tools said they changed, and how many of them the ledger has, in the right state. */
  readonly edited: number;
  readonly found: number;
  /** Entries of the ledger that the tools' words can judge, and how many are right. */
  readonly judged: number;
  readonly right: number;
  /** Entries from shell commands only: nothing in the session can confirm them. */
  readonly untold: number;
}

function scoreLedger(messages: Transcript): LedgerScore {
  const edited = editedFiles(messages);
  const ledger = recordFiles(NO_FILES, messages, (path) => path);
  const entries = new Map<string, EditedState>([
    ...(ledger.filesCreated ?? []).map((path) => [path, "created"] as const),
    ...ledger.filesChanged.map((path) => [path, "changed"] as const),
    ...(ledger.filesDeleted ?? []).map((path) => [path, "deleted"] as const),
  ]);
  // What a command did to a file is in no tool's words: such entries are counted and not judged.
  const commands = recordFiles(NO_FILES, messages.map(onlyCommands), (path) => path);
  const byCommand = Object.values(commands).flat();
  const isTold = (path: string): boolean =>
    byCommand.some((named) => path.endsWith(named) || named.endsWith(path));
  const agrees = (path: string): boolean => {
    const [said, known] = [edited.get(path), entries.get(path)];
    return (
      known !== undefined && (said === known || isTold(path) || (said === "written" && known !== "deleted"))
    );
  };
  const judged = [...entries.keys()].filter((path) => edited.has(path));
  const wrong = [...entries.keys()].filter((path) => !edited.has(path) && !isTold(path)).length;
  return {
    edited: edited.size,
    found: [...edited.keys()].filter(agrees).length,
    judged: judged.length + wrong,
    right: judged.filter(agrees).length,
    untold: entries.size - judged.length - wrong,
  };
}

function onlyCommands(message: Message): Message {
  const parts = message.parts.filter((part) => part.type === "tool" && COMMANDS.test(part.tool));
  return { ...message, parts };
}

const COMMANDS = /bash|shell|exec/i;
