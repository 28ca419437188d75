import { nameText } from "../../handoff/conversation.ts";
import { beforeText, type HandoffFacts, originalsText, whatWasDone } from "../../handoff/handoff.ts";
import { shellWord } from "../handoff/deliver.ts";
import type { SessionFile } from "../sessions/open-session.ts";
import type { Finding } from "./lines/session-lines.ts";
import { ownCommand } from "./recall.ts";
import type { Case, RescueFlags } from "./rescued.ts";

/** What the model reads first: what happened to the conversation, and how the rest is read again. */
export function noticeOf(
  { file, diagnosis }: Pick<Case, "file" | "diagnosis">,
  facts: HandoffFacts,
  { flags, env }: { readonly flags: RescueFlags; readonly env: NodeJS.ProcessEnv },
): string {
  const broken = diagnosis.findings.filter(
    ({ severity, problem }) =>
      severity === "broken" && !(flags.beforeCompaction && problem === "lost-compaction"),
  );
  const problems = new Set(broken.map(shortOf));
  const asked = flags.beforeCompaction ? " What stood before its newest compaction is back, as asked." : "";
  const why = `${problems.size === 0 ? "" : ` It could not go on: ${[...problems].join(", ")}.`}${asked}`;
  const secrets = flags.secrets === "out" ? ["--secrets", "out"] : [];
  const recall = (name: string): string =>
    `${[...ownCommand(env), "recall", name, ...secrets].map(shellWord).join(" ")} '<words to look for, or a handle>'`;
  const from = file.isPiped ? file.name : `session ${nameText(file.name)}, which is untouched`;
  const done = `${whatWasDone(facts)}.${beforeText(facts)}`;
  const rest = restText({ file, originals: facts.originals ?? [], recall });
  return `[Rescued by Carryover from ${from}.${why} Here: ${done} ${rest}]`;
}

/** Where what is missing stands: the first original has what every copy of it left out, a copy what was said later. */
function restText({ file, originals, recall }: Sources): string {
  const isPiped = file.isPiped === true;
  if (originals.length === 0)
    return isPiped
      ? "What is missing stands only in what was piped in: it has no name by which it could be read again."
      : `What is missing can be read again in your shell: ${recall(file.name)}`;
  const names = isPiped ? originals : [...originals, file.name];
  const [first = "", ...later] = names.map(recall);
  const since = later.map((command) => `, and what was said later: ${command}`).join("");
  return `What is missing can be read again in your shell: ${first}${since}. ${originalsText(names)}`;
}

interface Sources {
  readonly file: SessionFile;
  readonly originals: readonly string[];
  readonly recall: (name: string) => string;
}

const SHORT: Readonly<Record<Finding["problem"], string>> = {
  "damaged-line": "lines were damaged",
  "byte-order-mark": "it began with a byte-order mark",
  "not-utf8": "bytes were no UTF-8",
  "no-head": "its head was missing",
  "broken-chain": "messages were not linked",
  "repeated-line": "lines were repeated",
  "other-session": "lines of another session stood in it",
  emptied: "messages were emptied",
  "lost-compaction": "a compaction had lost everything",
  "orphan-call": "calls had no results",
  "orphan-result": "results had no calls",
  "repeated-call": "calls had the same id",
  "empty-text": "texts were empty",
  "too-long": "it did not fit the window",
  refused: "the provider refused it",
  "stale-thoughts": "thoughts stood behind what was edited later",
  huge: "its file was huge",
};

const shortOf = ({ problem }: Finding): string => SHORT[problem];
