import { isDeepStrictEqual } from "node:util";
import { sessionLabel } from "../../src/cli/files/read-input.ts";
import { profileSession } from "../../src/cli/inspect/profile-session.ts";
import { inspectReport } from "../../src/cli/inspect/report.ts";
import type { SessionHook } from "../../src/compaction/ask-hooks.ts";
import { compact } from "../../src/compaction/compact.ts";
import { planCompaction } from "../../src/compaction/plan/plan-compaction.ts";
import { createTextCleaner, fenceQuote, SUMMARY_TAGS } from "../../src/compaction/summary/text.ts";
import { formatMessagesAsContext } from "../../src/fork/context/format.ts";
import { processMessagesForFork } from "../../src/fork/fork.ts";
import { escapeJsonForHtml } from "../../src/inspector/server/page-html.ts";
import { createInspectedSession } from "../../src/inspector/view/inspected-session.ts";
import { createInspection } from "../../src/inspector/view/inspection.ts";
import { createSession } from "../../src/session/session.ts";
import { createMemoryOutputStore } from "../../src/stores/memory/output-store.ts";
import type { Cut } from "../../src/text/truncate.ts";
import { type TrimmedToolOutput, trimToolOutput } from "../../src/tool-output/truncate-tool-content.ts";
import { applyEdits } from "../../src/transcript/edit.ts";
import type { Message, Transcript } from "../../src/transcript/message.ts";
import type { ToolPart } from "../../src/transcript/part.ts";
import { createFakeClock, createFakeSummarizer, type FakeSummarizer } from "../rig/fakes.ts";
import { deepFreeze } from "../rig/notation.ts";
import type { History } from "../rig/random-history/history.ts";
import { PROVIDER_CASES } from "../rig/random-history/provider-cases.ts";

/** One way by which a text from outside comes in, and everything that it leaves on its way. */
export interface EntryPoint {
  readonly name: string;
  enter(text: string): Promise<Entered>;
}

/** What came of a text. */
export interface Entered {
  /** What a model or a person then reads of it. */
  readonly read: readonly Reading[];
  /** What a second passage would still change. */
  readonly unsettled: readonly unknown[];
  /** What a provider would refuse of the requests that hold it. */
  readonly faults: readonly unknown[];
  /** The strings of those requests, in which the user's own words are changed as little as possible. */
  readonly sent: readonly string[];
}

/** A text as it is read; without frames it stands alone, as a provider or a screen shows it. */
export interface Reading {
  readonly text: string;
  readonly frames?: Frames;
}

/** The elements that a text may open and close once, and those of which it may hold none. */
export interface Frames {
  readonly own: readonly string[];
  readonly foreign: readonly string[];
}

/** The six ways that RELIABILITY.md names. */
export const ENTRY_POINTS: readonly EntryPoint[] = [
  { name: "output", enter: enterAsOutput },
  { name: "input", enter: enterAsInput },
  { name: "summary", enter: enterAsSummary },
  { name: "inherited", enter: enterAsInheritance },
  { name: "hook", enter: enterThroughHook },
  { name: "inspector", enter: enterInspector },
];

async function enterAsOutput(text: string): Promise<Entered> {
  const limits = { maxChars: 20_000, maxLines: 500, maxBytes: 0, largeOutputThreshold: 40_000 };
  const outputs = createMemoryOutputStore();
  const bound = (output: string, cut?: Cut): Promise<TrimmedToolOutput> =>
    trimToolOutput(output, { limits, store: outputs, redact: {}, cut });
  const once = await bound(text);
  const twice = await bound(once.text, once.cut);
  const recalling = createSession({ clock: createFakeClock(), outputs });
  const recalled = once.handle === undefined ? undefined : await recalling.recall(once.handle);
  // A name that the text itself gives leads nowhere.
  const named = await recalling.recall(text.slice(0, 200));
  const { faults, sent } = await send({ output: text });
  return {
    read: [
      { text: once.text },
      ...(recalled?.status === "found" ? [{ text: recalled.text }] : []),
      inherited(talk({ output: text })),
    ],
    unsettled: once.text === twice.text ? [] : ["trimmed twice"],
    faults: [...faults, ...(named.status === "missing" ? [] : [named])],
    sent,
  };
}

async function enterAsInput(text: string): Promise<Entered> {
  const once = processMessagesForFork(talk({ input: text }));
  return {
    read: [inherited(talk({ input: text }))],
    unsettled: processMessagesForFork(once.messages).edits,
    ...(await send({ input: text })),
  };
}

async function enterAsSummary(text: string): Promise<Entered> {
  const read: Reading[] = [];
  for (const answer of [text.slice(0, 3_000), `## Goal\n${text.slice(0, 3_000)}`]) {
    for (const representation of ["pivot", "user-summary"] as const) {
      const summarizer = createFakeSummarizer(answer, "## Goal\nGo on.");
      const first = await compacted({ transcript: longTalk(), summarizer, representation });
      const later = [...first.transcript, ...longTalk("later")];
      const second = await compacted({ transcript: later, summarizer, representation });
      read.push(...first.read, ...second.read);
    }
  }
  const { data } = createTextCleaner();
  const prose = fenceQuote(data(text));
  return {
    read,
    unsettled: fenceQuote(data(prose)) === prose ? [] : ["cleaned twice"],
    faults: [],
    sent: [],
  };
}

async function enterAsInheritance(text: string): Promise<Entered> {
  const everywhere = talk({ input: text, output: text, error: text, tool: text, answer: text });
  const once = processMessagesForFork(everywhere);
  return {
    read: [inherited(everywhere, "documented"), inherited(everywhere, "default")],
    unsettled: processMessagesForFork(once.messages).edits,
    faults: [],
    sent: [inherited(talk({ request: text })).text],
  };
}

async function enterThroughHook(text: string): Promise<Entered> {
  const said = text.slice(0, 20_000);
  const failing: readonly SessionHook[] = [
    {
      name: "throws",
      compacting: () => {
        throw new Error(text);
      },
    },
    { name: "rejects", compacting: () => Promise.reject(text) },
  ];
  const read: Reading[] = [];
  for (const answer of [{ context: [said] }, { prompt: said }]) {
    const hooks = [...failing, { name: "says", compacting: () => answer }];
    const summarizer = createFakeSummarizer("## Goal\nGo on.");
    const { read: written, failures } = await compacted({ transcript: longTalk(), summarizer, hooks });
    read.push(...written, ...failures.map((failure) => ({ text: failure })));
  }
  return { read, unsettled: [], faults: [], sent: [] };
}

/** On a terminal, and in the page: everything that it shows is worked out, and its data cannot leave their block. */
async function enterInspector(text: string): Promise<Entered> {
  const everywhere = talk({
    input: text,
    output: text,
    error: text,
    tool: text,
    answer: text,
    request: text,
  });
  const plain = (shown: string): string => shown;
  const report = inspectReport({
    profile: { ...profileSession(everywhere, { top: 10 }), model: text },
    title: sessionLabel({ title: text, sessionId: text }, "session.json"),
    format: "opencode",
    top: 10,
    workingDirectory: text,
    colors: { bold: plain, red: plain, dim: plain },
  });
  const named = { name: text, title: text, sessionId: text, workingDirectory: text, problems: [text] };
  const session = createInspectedSession(
    { ...named, format: "opencode", transcript: everywhere },
    "redacted",
  );
  const inspection = createInspection(session);
  for (const { id } of inspection.policies) inspection.inspectWindow({ policy: id });
  const preview = inspection.previewForks({ profile: "documented", budgetChars: 20_000 }).text;
  const block = [...escapeJsonForHtml({ session })].join("");
  return {
    read: [{ text: report }],
    unsettled: isDeepStrictEqual(JSON.parse(block), { session }) ? [] : ["the page gets something else"],
    faults:
      /[<>&\u2028\u2029]/.test(block) || !block.isWellFormed() ? ["the data can leave their block"] : [],
    sent: [preview.text],
  };
}

interface Places {
  readonly request?: string;
  readonly answer?: string;
  readonly tool?: string;
  readonly input?: string;
  readonly output?: string;
  readonly error?: string;
}

/** A short conversation with a text in the places that are named. */
function talk({ request, answer, tool, input, output, error }: Places): Transcript {
  const call: ToolPart = {
    type: "tool",
    callId: "call_1",
    tool: tool ?? "bash",
    input: input === undefined ? { path: "a.ts" } : { path: input, [input.slice(0, 40)]: [{ deep: input }] },
    outcome: { status: "done", output: output ?? "ok", attachments: [] },
  };
  const failed: ToolPart = {
    ...call,
    callId: "call_2",
    outcome: { status: "failed", error: error ?? "no" },
  };
  return deepFreeze([
    say("m1", "user", request ?? "Look at it."),
    { id: "m2", role: "assistant", parts: [{ type: "text", text: answer ?? "I look." }, call, failed] },
    say("m3", "user", "Go on."),
  ]);
}

function longTalk(prefix = "m"): Transcript {
  return [
    say(`${prefix}1`, "user", "Make the parser faster."),
    say(`${prefix}2`, "assistant", "an ordinary answer ".repeat(2_500)),
    say(`${prefix}3`, "user", "Go on."),
  ];
}

function say(id: string, role: string, text: string): Message {
  return { id, role, parts: [{ type: "text", text }] };
}

function inherited(transcript: Transcript, profile: "default" | "documented" = "documented"): Reading {
  const { messages, stats } = processMessagesForFork(transcript, { profile, budgetChars: 20_000 });
  return { text: formatMessagesAsContext(messages, stats).text, frames: INHERITED };
}

interface Compacting {
  readonly transcript: Transcript;
  readonly summarizer: FakeSummarizer;
  readonly representation?: "pivot" | "user-summary";
  readonly hooks?: readonly SessionHook[];
}

/** Compacts, and gives every text that is written on the way: what the summarizer is asked, and what stays. */
async function compacted({ transcript, summarizer, representation = "pivot", hooks = [] }: Compacting) {
  const clock = createFakeClock();
  const plan = planCompaction({ transcript, trigger: "manual", tailTokens: 10, representation });
  const asked = summarizer.calls.length;
  const outcome = await clock.runUntilDone(compact(plan, { summarizer, clock }, { at: 1, hooks }));
  const inserted = outcome.edits.flatMap((edit) => (edit.type === "insert-message" ? [edit.message] : []));
  const texts = [
    ...inserted.flatMap(({ parts }) => parts.flatMap((part) => ("text" in part ? [part.text] : []))),
    ...summarizer.calls.slice(asked).map(({ request }) => request.prompt),
  ];
  return {
    transcript: applyEdits(transcript, outcome.edits, { at: 1 }),
    read: texts.map((text): Reading => ({ text, frames: SUMMED_UP })),
    failures: outcome.hookFailures.map((failure) => failure.text),
  };
}

const INHERITED: Frames = { own: ["inherited_context"], foreign: ["system-reminder"] };
const SUMMED_UP: Frames = {
  own: SUMMARY_TAGS.filter((tag) => tag !== "inherited_context" && tag !== "system-reminder"),
  foreign: ["inherited_context", "system-reminder"],
};

/** Sends a text to every provider through a session, as the middleware does. */
async function send({ input, output }: Places): Promise<Pick<Entered, "faults" | "sent">> {
  const history: History = {
    system: "be brief",
    steps: [
      { type: "user", texts: ["go on"], images: [] },
      {
        type: "model",
        model: "north",
        thoughts: [],
        text: "I look.",
        calls: [
          { id: "call_1", tool: "read", input: { path: input ?? "a.ts", deep: [{ text: input ?? "" }] } },
        ],
      },
      {
        type: "results",
        results: [{ callId: "call_1", tool: "read", text: output ?? "ok", isError: false, image: undefined }],
      },
    ],
    isThinking: false,
    cacheMarks: 1,
  };
  const faults: unknown[] = [];
  const sent: string[] = [];
  for (const { format, lower } of PROVIDER_CASES) {
    const wire = deepFreeze(lower(history));
    const session = createSession({ clock: createFakeClock(), outputs: createMemoryOutputStore() });
    session.observe(format.decode(wire));
    await session.prepare();
    const request = format.apply(wire, session.edits(), { at: 1 });
    faults.push(...format.faults(request));
    sent.push(...stringsIn(request));
  }
  return { faults, sent };
}

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
