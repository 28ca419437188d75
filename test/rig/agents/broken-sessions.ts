import { Buffer } from "node:buffer";
import { writeOpenCode, writeOpenCode2 } from "../../../src/handoff/writers/opencode.ts";
import {
  type SessionHead,
  type Turn,
  writeClaudeCode,
  writeCodex,
  writePi,
} from "../../../src/handoff/writers/session-files.ts";
import type { AgentName } from "./agent-programs.ts";

/** A session that cannot go on as it is, or that goes on without what was said, after a failure that people reported. */
export interface BrokenSession {
  readonly name: string;
  readonly agent: AgentName;
  /**
   * What the real program does with it: `refused` by the provider, `fails` without asking it, `loses` what was said
   * before, or `takes` it, since newer versions repair this themselves.
   */
  readonly before: "refused" | "fails" | "loses" | "takes";
  /** True where nothing has to be done, and it is rescued all the same. */
  readonly isHarmless?: true;
  /** What the diagnosis names. */
  readonly problems: readonly string[];
  /** The bytes of the file, for a session of this id in this folder. */
  content(head: SessionHead): Buffer;
}

/** What must reach the model again: the first words of the user, a fact out of an old output, and the last words. */
export const FACTS = {
  first: "The service listens on port 48213",
  output: "E7731",
  last: "free the disk of atlas-4",
};

/** A session that holds the mark is read by a model of this window. */
export const SMALL_WINDOW = { mark: "We work with a small model.", tokens: 64_000 };

/** All of them; `longChars` is more than fits a window. */
export function brokenSessions(longChars: number): readonly BrokenSession[] {
  const long = (agent: AgentName) => talk(agent, longChars);
  const short = (agent: AgentName) => talk(agent, 4_000);
  return [
    {
      name: "claude-code: one output is longer than the window",
      agent: "claude-code",
      before: "refused",
      problems: ["too-long"],
      content: (head) => text(byHaiku(writeClaudeCode(withLongOutput("claude-code", longChars), head))),
    },
    {
      name: "claude-code: compaction fails again and again (#23047)",
      agent: "claude-code",
      before: "refused",
      problems: ["refused", "too-long"],
      content: (head) => text(withFailedCompactions(writeClaudeCode(long("claude-code"), head))),
    },
    {
      name: "claude-code: refused by a window that is smaller than usual",
      agent: "claude-code",
      before: "refused",
      problems: ["refused"],
      content: (head) =>
        text(
          refusedBy(
            writeClaudeCode([said("user", SMALL_WINDOW.mark), ...talk("claude-code", 300_000)], head),
            `API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 106114 tokens > ${SMALL_WINDOW.tokens} maximum"}}`,
          ),
        ),
    },
    {
      name: "claude-code: the summary is a message about a limit (#16775, #6003)",
      agent: "claude-code",
      before: "loses",
      problems: ["lost-compaction"],
      content: (head) =>
        text(
          compacted(writeClaudeCode(short("claude-code"), head), "Claude AI usage limit reached|1755482400."),
        ),
    },
    {
      name: "claude-code: the contents were emptied before the summary came (#40352)",
      agent: "claude-code",
      before: "loses",
      problems: ["emptied"],
      content: (head) => text(emptied(writeClaudeCode(short("claude-code"), head))),
    },
    {
      name: "claude-code: lines without parents",
      agent: "claude-code",
      before: "loses",
      problems: ["broken-chain"],
      content: (head) =>
        text(writeClaudeCode(short("claude-code"), head).map((line) => without(line, "parentUuid"))),
    },
    {
      name: "claude-code: a root in the middle",
      agent: "claude-code",
      before: "loses",
      problems: ["broken-chain"],
      content: (head) =>
        text(
          writeClaudeCode(short("claude-code"), head).map((line, index) =>
            index === 5 ? { ...line, parentUuid: null } : line,
          ),
        ),
    },
    {
      name: "claude-code: cut, zeroed and half-written lines",
      agent: "claude-code",
      before: "loses",
      problems: ["damaged-line"],
      content: (head) => damaged(writeClaudeCode(short("claude-code"), head)),
    },
    {
      name: "claude-code: calls without results, results without calls",
      agent: "claude-code",
      before: "loses",
      problems: ["orphan-call", "orphan-result"],
      content: (head) =>
        text(
          orphaned(writeClaudeCode(short("claude-code"), head), (line) =>
            /"tool_use"|"tool_result"/.test(line),
          ),
        ),
    },
    {
      name: "claude-code: parents in a circle",
      agent: "claude-code",
      before: "loses",
      problems: ["broken-chain"],
      content: (head) => text(inCircle(writeClaudeCode(short("claude-code"), head))),
    },
    {
      name: "claude-code: two sessions in one file",
      agent: "claude-code",
      before: "loses",
      problems: ["other-session"],
      content: (head) => text(interleaved(short("claude-code"), head)),
    },
    {
      name: "codex: the input exceeds the window",
      agent: "codex",
      before: "refused",
      problems: ["too-long"],
      content: (head) => text([...codexRecords(long("codex"), head), WINDOW_RECORD]),
    },
    {
      name: "codex: hundreds of compacted records (#24191)",
      agent: "codex",
      before: "takes",
      isHarmless: true,
      problems: ["huge"],
      content: (head) => text([...codexCompactions(head, 40, 60_000)]),
    },
    {
      name: "codex: a compaction with nothing in it",
      agent: "codex",
      before: "loses",
      problems: ["lost-compaction"],
      content: (head) => text([...codexRecords(short("codex"), head), compactedRecord(head, "", [])]),
    },
    {
      name: "codex: the first line is gone",
      agent: "codex",
      before: "fails",
      problems: ["no-head"],
      content: (head) => text(codexRecords(short("codex"), head).slice(1)),
    },
    {
      name: "codex: lines in another order",
      agent: "codex",
      before: "takes",
      problems: ["broken-chain"],
      content: (head) => text(reordered(codexRecords(short("codex"), head), head.at)),
    },
    {
      name: "codex: records over several lines, as a formatter leaves them",
      agent: "codex",
      before: "fails",
      problems: ["damaged-line"],
      content: (head) =>
        Buffer.from(
          codexRecords(short("codex"), head)
            .map((line) => `${JSON.stringify(line, null, 2)}\n`)
            .join(""),
        ),
    },
    {
      name: "codex: a byte-order mark, broken UTF-8 and cut lines",
      agent: "codex",
      before: "fails",
      problems: ["byte-order-mark", "not-utf8", "damaged-line"],
      content: (head) =>
        Buffer.concat([Buffer.from("\uFEFF"), broken8(damaged(codexRecords(short("codex"), head)))]),
    },
    {
      name: "pi: the prompt is too long",
      agent: "pi",
      before: "refused",
      problems: ["too-long"],
      content: (head) => text(writePi(long("pi"), head)),
    },
    {
      name: "pi: no head, and parents that are not there",
      agent: "pi",
      before: "loses",
      problems: ["no-head", "broken-chain"],
      content: (head) =>
        text(
          writePi(short("pi"), head)
            .slice(1)
            .map((line, index) => (index === 6 ? { ...line, parentId: "ffffffff" } : line)),
        ),
    },
    {
      name: "pi: an answer without usage, and a compaction that says nothing",
      agent: "pi",
      before: "fails",
      problems: ["lost-compaction"],
      content: (head) => text(piCompacted(writePi(short("pi"), head))),
    },
    {
      name: "opencode: the prompt is too long",
      agent: "opencode",
      before: "refused",
      problems: ["too-long"],
      content: (head) => Buffer.from(JSON.stringify(writeOpenCode(long("opencode"), head))),
    },
    {
      name: "opencode2: the prompt is too long",
      agent: "opencode2",
      before: "refused",
      problems: ["too-long"],
      content: (head) => Buffer.from(JSON.stringify(writeOpenCode2(long("opencode2"), head))),
    },
  ];
}

/** A conversation with commands whose outputs have so many characters together. */
export function talk(agent: AgentName, chars: number): readonly Turn[] {
  const run = SHELLS[agent];
  const calls = Math.max(4, Math.ceil(chars / 16_000));
  const each = Math.floor(chars / calls);
  const turns: Turn[] = [said("user", `${FACTS.first}. Find out why deploys fail.`)];
  for (let index = 0; index < calls; index++) {
    const id = `toolu_${String(index).padStart(4, "0")}`;
    const command = index === 1 ? "cat deploy.log" : `grep -n step-${index} build.log`;
    const fact = index === 1 ? `ERROR ${FACTS.output}: the disk of node atlas-4 is full\n` : "";
    turns.push({
      role: "assistant",
      blocks: [
        { type: "text", text: `Step ${index}: I look.` },
        { type: "call", id, tool: run.tool, input: run.input(command) },
      ],
    });
    const output = `${fact}${lines(index, each)}`;
    turns.push({
      role: "user",
      blocks: [{ type: "result", id, tool: run.tool, text: output, isError: false }],
    });
  }
  turns.push(said("assistant", "The disk of a node is full."));
  turns.push(said("user", `Good. Now ${FACTS.last} and deploy again.`));
  turns.push(said("assistant", "I will."));
  return turns;
}

/** The same, with one more output of that length. */
function withLongOutput(agent: AgentName, chars: number): readonly Turn[] {
  const turns = talk(agent, 4_000);
  const [call, result] = talk(agent, 1).slice(1, 3) as [Turn, Turn];
  const rename = (turn: Turn): Turn => ({
    ...turn,
    blocks: turn.blocks.map((block) => (block.type === "text" ? block : { ...block, id: "toolu_long" })),
  });
  const long = result.blocks.map((block) =>
    block.type === "result" ? { ...block, text: lines(9, chars) } : block,
  );
  return [...turns.slice(0, 5), rename(call), rename({ ...result, blocks: long }), ...turns.slice(5)];
}

const SHELLS: Readonly<Record<AgentName, { tool: string; input: (command: string) => object }>> = {
  "claude-code": { tool: "Bash", input: (command) => ({ command, description: "Look" }) },
  codex: { tool: "exec_command", input: (cmd) => ({ cmd }) },
  opencode: { tool: "bash", input: (command) => ({ command, description: "Look" }) },
  opencode2: { tool: "shell", input: (command) => ({ command }) },
  pi: { tool: "bash", input: (command) => ({ command }) },
};

const said = (role: Turn["role"], words: string): Turn => ({ role, blocks: [{ type: "text", text: words }] });

/** Lines that some output of a talk of this length has. */
export function buildLines(chars: number): readonly string[] {
  return lines(9, Math.min(chars, 15_000)).split("\n");
}

function lines(seed: number, chars: number): string {
  const made: string[] = [];
  for (let size = 0, line = 0; size < chars; line++) {
    const next = `build.log:${seed * 1_000 + line}: step-${seed} compiled module ${(seed * 7_919 + line * 104_729) % 99_991} in ${line % 97} ms`;
    made.push(next);
    size += next.length + 1;
  }
  return made.join("\n");
}

const json = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");
const text = (values: readonly unknown[]): Buffer => Buffer.from(json(values));
type Line = Record<string, unknown>;

/** As a model answered it that has a small window. */
export function byHaiku(written: readonly object[]): readonly object[] {
  return written.map((line) => {
    const message = (line as Line).message as Line | undefined;
    const isAnswer = message?.role === "assistant";
    return isAnswer ? { ...line, message: { ...message, model: "claude-haiku-4-5" } } : line;
  });
}

/** Codex records the window of its model. */
const WINDOW_RECORD = {
  timestamp: "2026-11-01T00:00:00.000Z",
  type: "event_msg",
  payload: { type: "token_count", info: { model_context_window: 200_000 } },
};

/** A rollout without what is only for the screen. */
function codexRecords(turns: readonly Turn[], head: SessionHead): readonly object[] {
  return writeCodex(turns, head).filter((line) => (line as Line).type !== "event_msg");
}

/** Each with a time of its own, and every two of them changed. */
function reordered(written: readonly object[], at: number): readonly object[] {
  const [head, ...rest] = written.map((line, index) => ({
    ...line,
    timestamp: new Date(at + index * 1_000).toISOString(),
  }));
  const pairs = Array.from({ length: Math.ceil(rest.length / 2) }, (_, index) =>
    rest.slice(index * 2, index * 2 + 2).reverse(),
  );
  return [head as object, ...pairs.flat()];
}

function without(line: object, key: string): object {
  const { [key]: _, ...rest } = line as Line;
  return rest;
}

function withFailedCompactions(written: readonly object[]): readonly object[] {
  return refusedBy(written, ...Array.from({ length: 5 }, () => "Prompt is too long"));
}

/** What Claude Code notes of refusals. */
function refusedBy(written: readonly object[], ...refusals: readonly string[]): readonly object[] {
  const last = written.at(-1) as Line;
  const out: object[] = [...written];
  let parentUuid = last.uuid;
  for (const [round, refusal] of refusals.entries()) {
    const uuid = `00000000-0000-4000-9000-00000000000${round}`;
    const content = [{ type: "text", text: refusal }];
    const message = { id: `error-${round}`, role: "assistant", model: "<synthetic>", content };
    out.push({ ...last, parentUuid, uuid, type: "assistant", isApiErrorMessage: true, message });
    parentUuid = uuid;
  }
  return out;
}

function compacted(written: readonly object[], summary: string): readonly object[] {
  const last = written.at(-1) as Line;
  const boundary = "00000000-0000-4000-9000-0000000000b0";
  const told = "00000000-0000-4000-9000-0000000000b1";
  const begun = "This session is being continued from a previous conversation that ran out of context.";
  return [
    ...written,
    {
      ...without(last, "message"),
      type: "system",
      subtype: "compact_boundary",
      content: "Conversation compacted",
      parentUuid: null,
      logicalParentUuid: last.uuid,
      uuid: boundary,
      compactMetadata: { trigger: "auto", preTokens: 190_000 },
    },
    {
      ...last,
      type: "user",
      parentUuid: boundary,
      uuid: told,
      isCompactSummary: true,
      message: { role: "user", content: `${begun} The conversation is summarized below:\n${summary}` },
    },
  ];
}

/** All but the last words: nothing is left in a message but what the program noted of requests, and its own copy of outputs. */
function emptied(written: readonly object[]): readonly object[] {
  return written.flatMap((each, index): readonly object[] => {
    const line = each as Line & { message: { role: string; content: readonly Line[] } };
    if (index >= written.length - 2) return [line];
    const { role, content } = line.message;
    const stdout = content.find(({ type }) => type === "tool_result")?.content;
    const own = stdout === undefined ? {} : { toolUseResult: { stdout, stderr: "", interrupted: false } };
    const blob = { type: "api-request-blob", hash: `${index}`, message: { role, content } };
    const hollow = { ...line, ...own, message: { role, content: "" } };
    return role === "user" && stdout === undefined ? [hollow, blob] : [hollow];
  });
}

/** A line names one behind it as its parent. */
function inCircle(written: readonly object[]): readonly object[] {
  const behind = (written[8] as Line).uuid;
  return written.map((line, index) => (index === 4 ? { ...line, parentUuid: behind } : line));
}

/** A line that was cut in the middle, one of zeros, and a last one that was not written to its end. */
function damaged(written: readonly object[]): Buffer {
  const all = written.map((line) => JSON.stringify(line));
  const cut = all.map((line, index) => {
    if (index === all.length - 6) return line.slice(0, Math.floor(line.length / 2));
    return index === all.length - 4 ? "\0".repeat(line.length) : line;
  });
  return Buffer.from(`${cut.join("\n")}\n{"type":"user","uuid":"half`);
}

function broken8(bytes: Buffer): Buffer {
  const at = bytes.indexOf("compiled");
  const changed = Buffer.from(bytes);
  changed[at] = 0xff;
  return changed;
}

/** One call loses its result, one result its call. */
function orphaned(written: readonly object[], isPaired: (line: string) => boolean): readonly object[] {
  const paired = written.flatMap((line, index) => (isPaired(JSON.stringify(line)) ? [index] : []));
  const gone = new Set([paired[0], paired[5]]);
  return written.filter((_, index) => !gone.has(index));
}

function interleaved(turns: readonly Turn[], head: SessionHead): readonly object[] {
  const own = writeClaudeCode(turns, head);
  const other = writeClaudeCode([said("user", "Something else altogether"), said("assistant", "Yes?")], {
    ...head,
    id: "00000000-0000-4000-a000-000000000000",
  });
  return [...own.slice(0, 4), other[0] as object, ...own.slice(4), other[1] as object];
}

function compactedRecord({ at }: SessionHead, message: string, history: readonly object[]): object {
  const timestamp = new Date(at).toISOString();
  return { timestamp, type: "compacted", payload: { message, replacement_history: history } };
}

/** The head, then as many compactions, each with all that was said, and a few items between them. */
export function* codexCompactions(head: SessionHead, count: number, chars: number): Generator<object> {
  const [meta, ...items] = codexRecords(talk("codex", 4_000), head) as readonly (Line & {
    payload: object;
  })[];
  yield meta as object;
  yield* items;
  const filler = { type: "message", role: "user", content: [{ type: "input_text", text: lines(3, chars) }] };
  for (let index = 0; index < count; index++) {
    const summary = {
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: summaryText(index) }],
    };
    yield compactedRecord(head, summaryText(index), [filler, summary]);
    yield* codexRecords([said("user", `Round ${index}?`), said("assistant", `Done ${index}.`)], head).slice(
      1,
    );
  }
  yield* items.slice(-3);
}

const summaryText = (index: number): string =>
  `Summary ${index}. ${FACTS.first}. deploy.log says ${FACTS.output}: a disk is full.`;

function piCompacted(written: readonly object[]): readonly object[] {
  const broken = written.map((each) => {
    const line = each as Line & { message?: Line };
    return line.message?.role === "assistant" ? { ...line, message: without(line.message, "usage") } : line;
  });
  const last = written.at(-1) as Line;
  const compaction = {
    type: "compaction",
    id: "0000c0c0",
    parentId: last.id,
    timestamp: last.timestamp,
    summary: "",
    firstKeptEntryId: "0000c0c0",
    tokensBefore: 100_000,
  };
  return [...broken, compaction];
}
