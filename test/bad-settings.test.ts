import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import * as aiSdkEntry from "../src/ai-sdk.ts";
import * as documented from "../src/documented.ts";
import * as formats from "../src/formats.ts";
import * as main from "../src/index.ts";
import * as node from "../src/node.ts";
import * as postgres from "../src/postgres.ts";
import * as stages from "../src/stages.ts";
import * as testing from "../src/testing.ts";
import { transcript } from "./rig/notation.ts";

const messages = transcript("u:10 a(bash:90) u:5");
const clock = main.createSystemClock();
const never = new AbortController().signal;
const tiers = {
  tier1Count: 5,
  tier2Count: 10,
  resultChars: { 1: Number.POSITIVE_INFINITY, 2: 3_000, 3: 500 },
  paramsChars: { 1: 500, 2: 200, 3: 100 },
};
const hide = {
  type: "hide-message",
  messageId: messages[0]?.id ?? "",
  stage: "test",
  reason: "empty",
} as const;
const wire = [{ role: "user", content: "hi" }] as const;
const hideFirst = { ...hide, messageId: formats.openaiChat.decode(wire)[0]?.id ?? "" };
const inheritFacts = {
  setting: "auto",
  hook: "seen",
  receiver: "same",
  lastRequestAgeMs: 0,
  fullTokens: 1,
  trimmedTokens: 1,
  fixedTokens: 1,
  cacheReadPrice: 1,
  cacheWritePrice: 1,
  finishedSteps: [],
} as const;
const root = join(tmpdir(), "carryover-bad-settings");
const model = { provider: "test", modelId: "test", doGenerate() {}, doStream() {} };
const plan = () => documented.planCompaction({ transcript: messages, trigger: "manual" });
const session = () => main.createSession({ clock });
const contract = {
  format: formats.openaiChat,
  wire: [],
  stages: [],
  repair: () => [],
  expectEqual: () => {},
};

/** One parameter that holds options: what it may look like, a mistyped name, and a value that cannot be used. */
interface Row {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: what is given is wrong on purpose.
  readonly call: (options: any) => unknown;
  readonly good: object;
  readonly typo: readonly [given: string, meant: string];
  readonly wrong: readonly [options: object, sentence: string];
  /** The name of the parameter, where problems are named after it. */
  readonly at?: string;
}

const KEY_TYPO = ["extraRule", "extraRules"] as const;
const KEY_WRONG = [{ key: 7 }, "key is 7; give a text"] as const;
const PROVIDER = {
  good: { provider: "x" },
  typo: ["providr", "provider"],
  wrong: [{ provider: 7 }, "provider is 7; give a text"],
} as const;
const ESTIMATOR = {
  good: { estimator: "calibrated" },
  typo: ["estimater", "estimator"],
  wrong: [{ estimator: "exact" }, 'estimator is "exact"; give "documented" or "calibrated", or a function'],
} as const;
const FORK = {
  good: { budgetChars: 5_000 },
  typo: ["budgetChar", "budgetChars"],
  wrong: [{ budgetChars: "5k" }, 'budgetChars is "5k"; give a number of 512 or more'],
} as const;
const LIMITS = {
  good: { maxLines: 10 },
  typo: ["maxLine", "maxLines"],
  wrong: [{ maxBytes: -4 }, "maxBytes is -4; give 0 for no limit, or a number of 1 or more"],
} as const;
const FILES = {
  good: { root },
  typo: ["rooot", "root"],
  wrong: [{ durable: false }, "durable is not an option; leave it out: what is written is flushed to disk"],
} as const;
const NO_CLOCK =
  "clock is 7; give an object with the functions now and sleep, such as createSystemClock() gives";

const ROWS: readonly Row[] = [
  {
    name: "isOverflow",
    call: (o) => documented.isOverflow(o),
    good: { usage: undefined, limits: { contextTokens: 1, outputTokens: 1 } },
    typo: ["setting", "settings"],
    wrong: [{ limits: { contextTokens: "8k" } }, 'limits.contextTokens is "8k"; give a number'],
  },
  {
    name: "usableTokens",
    call: (o) => documented.usableTokens({ contextTokens: 9, outputTokens: 1 }, o),
    at: "settings",
    good: {},
    typo: ["outputCapToken", "outputCapTokens"],
    wrong: [{ formula: "new" }, 'formula is "new"; give "documented" or "opencode"'],
  },
  {
    name: "effectiveTokenLimit",
    call: (o) => documented.effectiveTokenLimit(o, 9),
    at: "settings",
    good: main.DEFAULT_COMPACTION_SETTINGS,
    typo: ["reserveToken", "reserveTokens"],
    wrong: [{ maxTokens: "8k" }, 'maxTokens is "8k"; give a number'],
  },
  {
    name: "shouldCompact",
    call: (o) => documented.shouldCompact(o),
    good: {
      settings: main.DEFAULT_COMPACTION_SETTINGS,
      contextTokens: 1,
      visibleMessages: 1,
      contextWindowTokens: 9,
    },
    typo: ["turns", "turn"],
    wrong: [{ demand: "now" }, 'demand is "now"; give "none" or "manual" or "recovery"'],
  },
  {
    name: "redactSecrets",
    call: (o) => main.redactSecrets("x", o),
    good: { key: "k" },
    typo: KEY_TYPO,
    wrong: KEY_WRONG,
  },
  {
    name: "redactSecretsWithReport",
    call: (o) => main.redactSecretsWithReport("x", o),
    good: { extraRules: [{ type: "t", pattern: /x/ }] },
    typo: KEY_TYPO,
    wrong: [
      { extraRules: [{ type: "t", pattern: "x" }] },
      'extraRules.0.pattern is "x"; give a regular expression',
    ],
  },
  {
    name: "redactTranscript",
    call: (o) => stages.redactTranscript(o),
    good: {},
    typo: KEY_TYPO,
    wrong: KEY_WRONG,
  },
  { name: "estimateTokens", call: (o) => main.estimateTokens("x", o), ...ESTIMATOR },
  {
    name: "estimateMessageTokens",
    call: (o) => main.estimateMessageTokens(messages[0] as main.Message, o),
    ...ESTIMATOR,
  },
  { name: "estimateContextTokens", call: (o) => main.estimateContextTokens(messages, o), ...ESTIMATOR },
  { name: "classifyProviderError", call: (o) => main.classifyProviderError("x", o), ...PROVIDER },
  { name: "isContextLengthExceeded", call: (o) => documented.isContextLengthExceeded("x", o), ...PROVIDER },
  { name: "forkContext", call: (o) => main.forkContext(messages, o), ...FORK },
  { name: "processMessagesForFork", call: (o) => documented.processMessagesForFork(messages, o), ...FORK },
  {
    name: "formatMessagesAsContext",
    call: (o) => documented.formatMessagesAsContext(messages, undefined, o),
    ...FORK,
  },
  {
    name: "buildForkPreamble",
    call: (o) => documented.buildForkPreamble(main.forkContext(messages).stats, o),
    good: { recall: "recall" },
    typo: ["recal", "recall"],
    wrong: [{ recall: 7 }, "recall is 7; give a text"],
  },
  {
    name: "applyGraduatedTruncation",
    call: (o) => documented.applyGraduatedTruncation(messages, o),
    at: "limits",
    good: tiers,
    typo: ["tier1Counts", "tier1Count"],
    wrong: [{ tier1Count: "5" }, 'tier1Count is "5"; give a number of 0 or more'],
  },
  {
    name: "getToolResultTier",
    call: (o) => documented.getToolResultTier(0, 1, o),
    good: tiers,
    typo: ["tier1Counts", "tier1Count"],
    wrong: [{ tier1Count: "5" }, 'tier1Count is "5"; give a number of 0 or more'],
  },
  {
    name: "graduatedTiers",
    call: (o) => stages.graduatedTiers(o),
    good: { limits: tiers },
    typo: ["limit", "limits"],
    wrong: [
      { limits: { ...tiers, resultChars: { 1: 1, 2: 2 } } },
      "limits.resultChars.3 is missing; give a number of 0 or more",
    ],
  },
  {
    name: "chooseInheritMode",
    call: (o) => main.chooseInheritMode(o),
    good: inheritFacts,
    typo: ["windowToken", "windowTokens"],
    wrong: [{ setting: "best" }, 'setting is "best"; give "auto" or "full" or "trimmed" or "text"'],
  },
  {
    name: "omitForChild",
    call: (o) => stages.omitForChild(o),
    good: { ownTools: [] },
    typo: ["ownTool", "ownTools"],
    wrong: [{ ownTools: "fork" }, 'ownTools is "fork"; give a list, each item a text'],
  },
  {
    name: "compactionBoundary",
    call: (o) => stages.compactionBoundary(o),
    good: { from: "summary" },
    typo: ["fro", "from"],
    wrong: [{ from: "start" }, 'from is "start"; give "summary" or "marker"'],
  },
  {
    name: "charBudget",
    call: (o) => stages.charBudget(o),
    good: { maxChars: 600 },
    typo: ["maxChar", "maxChars"],
    wrong: [{ maxChars: 5 }, "maxChars is 5; give a number of 512 or more"],
  },
  {
    name: "keepLines",
    call: (o) => stages.keepLines(o),
    good: { keepChars: 9 },
    typo: ["keepChar", "keepChars"],
    wrong: [{ keepChars: -1 }, "keepChars is -1; give a number of 0 or more"],
  },
  {
    name: "pruneStage",
    call: (o) => stages.pruneStage(o),
    good: {},
    typo: ["protectToken", "protectTokens"],
    wrong: [{ protectTokens: Number.NaN }, "protectTokens is NaN; give a number of 0 or more"],
  },
  {
    name: "prune",
    call: (o) => documented.prune(messages, o),
    good: {},
    typo: ["minimumToken", "minimumTokens"],
    wrong: [{ minimumTokens: "20k" }, 'minimumTokens is "20k"; give a number of 0 or more'],
  },
  {
    name: "repairPairing",
    call: (o) => stages.repairPairing(messages, o),
    good: {},
    typo: ["lastMessag", "lastMessage"],
    wrong: [{ lastMessage: "assistant" }, 'lastMessage is "assistant"; give "any" or "user"'],
  },
  {
    name: "applyEdits",
    call: (o) => main.applyEdits(messages, [hide], o),
    good: { at: 1 },
    typo: ["att", "at"],
    wrong: [{ at: "now" }, 'at is "now"; give milliseconds since 1970'],
  },
  {
    name: "runStages",
    call: (o) => main.runStages(messages, [() => [hide]], o),
    good: { at: 1 },
    typo: ["att", "at"],
    wrong: [{ at: "now" }, 'at is "now"; give milliseconds since 1970'],
  },
  {
    name: "a format's apply",
    call: (o) => formats.openaiChat.apply(wire, [hideFirst], o),
    good: { at: 1 },
    typo: ["att", "at"],
    wrong: [{ at: "now" }, 'at is "now"; give milliseconds since 1970'],
  },
  {
    name: "readTranscript",
    call: (o) => formats.readTranscript(new Uint8Array(), o),
    good: { keep: "live" },
    typo: ["kep", "keep"],
    wrong: [{ keep: "some" }, 'keep is "some"; give "all" or "live" or "window"'],
  },
  {
    name: "readJsonLines",
    call: (o) => formats.readJsonLines((async function* () {})(), o).next(),
    good: {},
    typo: ["onProblm", "onProblem"],
    wrong: [{ onProblem: 7 }, "onProblem is 7; give a function"],
  },
  {
    name: "trimToolOutput",
    call: (o) => main.trimToolOutput("x", o),
    good: {},
    typo: ["limit", "limits"],
    wrong: [
      { limits: { maxLines: -4 } },
      "limits.maxLines is -4; give 0 for no limit, or a number of 1 or more",
    ],
  },
  {
    name: "truncateToolContent (limits)",
    call: (o) => documented.truncateToolContent([], o),
    at: "limits",
    ...LIMITS,
  },
  {
    name: "truncateToolContent",
    call: (o) => documented.truncateToolContent([], undefined, undefined, o),
    good: {},
    typo: ["normalise", "normalize"],
    wrong: [{ normalize: true }, 'normalize is true; give "on" or "off"'],
  },
  {
    name: "planCompaction",
    call: (o) => documented.planCompaction(o),
    good: { transcript: messages, trigger: "manual" },
    typo: ["setting", "settings"],
    wrong: [
      { trigger: "now" },
      'trigger is "now"; give "threshold" or "overflow" or "context_limit_recovery" or "manual"',
    ],
  },
  {
    name: "compact (ports)",
    call: (o) => documented.compact(plan(), o, { at: 1 }),
    at: "ports",
    good: { clock },
    typo: ["sumarizer", "summarizer"],
    wrong: [{ clock: 7 }, NO_CLOCK],
  },
  {
    name: "compact",
    call: (o) => documented.compact(plan(), { clock }, o),
    good: { at: 1 },
    typo: ["hook", "hooks"],
    wrong: [{ onEvent: 7 }, "onEvent is 7; give a function"],
  },
  {
    name: "maybeSummarizeToolResults",
    call: (o) => documented.maybeSummarizeToolResults(messages, o),
    good: { settings: { toolCallCutoff: 10 }, clock, signal: never },
    typo: ["pendings", "pending"],
    wrong: [{ signal: "long" }, 'signal is "long"; give an AbortSignal'],
  },
  {
    name: "createSession (ports)",
    call: (o) => main.createSession(o),
    at: "ports",
    good: { clock },
    typo: ["output", "outputs"],
    wrong: [{ clock: 7 }, NO_CLOCK],
  },
  {
    name: "createSession",
    call: (o) => main.createSession({ clock }, o),
    good: {},
    typo: ["keepToken", "keepTokens"],
    wrong: [{ redaction: { kee: 1 } }, "redaction.kee is not an option; did you mean key?"],
  },
  {
    name: "session.nextAction",
    call: (o) => session().nextAction(o),
    good: {},
    typo: ["demands", "demand"],
    wrong: [{ demand: "now" }, 'demand is "now"; give "none" or "manual"'],
  },
  {
    name: "session.prepare",
    call: (o) => session().prepare(o),
    good: {},
    typo: ["signl", "signal"],
    wrong: [{ moment: "later" }, 'moment is "later"; give "before-call" or "after-turn"'],
  },
  { name: "session.onProviderError", call: (o) => session().onProviderError("x", o), ...PROVIDER },
  {
    name: "session.setOverhead",
    call: (o) => session().setOverhead(o),
    good: {},
    typo: ["systemChar", "systemChars"],
    wrong: [{ toolsChars: "9k" }, 'toolsChars is "9k"; give a number of 0 or more'],
  },
  { name: "createFileOutputStore", call: (o) => node.createFileOutputStore(o), ...FILES },
  {
    name: "createFileJournal",
    call: (o) => node.createFileJournal(o),
    ...FILES,
    good: { root, session: "s" },
  },
  { name: "createFileRecordStore", call: (o) => node.createFileRecordStore(o), ...FILES },
  {
    name: "cleanOutputs",
    call: (o) => node.cleanOutputs(o),
    good: { root },
    typo: ["maxByte", "maxBytes"],
    wrong: [{ maxAgeMs: "7d" }, 'maxAgeMs is "7d"; give a number of 0 or more'],
  },
  {
    name: "createPostgresStores",
    call: (o) => postgres.createPostgresStores(o),
    good: { connectionString: "postgres://u:hidd3n@h/d" },
    typo: ["shema", "schema"],
    wrong: [{ maxConnections: 0 }, "maxConnections is 0; give a whole number of 1 or more"],
  },
  {
    name: "carryover",
    call: (o) => aiSdkEntry.carryover(model as never, o),
    good: {},
    typo: ["onCompakt", "onCompact"],
    wrong: [
      { toolOutput: { maxLines: "many" } },
      'toolOutput.maxLines is "many"; give 0 for no limit, or a number of 1 or more',
    ],
  },
  {
    name: "formatLaws",
    call: (o) => testing.formatLaws(o),
    good: contract,
    typo: ["stage", "stages"],
    wrong: [{ repair: 7 }, "repair is 7; give a function"],
  },
];

/** Functions with such a parameter that take no options of a person, and why. */
const EXEMPT: Readonly<Record<string, string>> = {};

describe.each(ROWS)(
  "the options of $name",
  ({ call, good, typo: [given, meant], wrong: [bad, sentence], at }) => {
    const named = (text: string): string => (at === undefined ? text : `${at}.${text}`);
    const unknown = named(`${given} is not an option; did you mean ${meant}?`);
    // An unknown key may hold what was meant for a known one, which then is missing; that is said as well.
    const mistyped = { ...good, [given]: 1 };

    it("are taken where they can be used", async () => {
      expect(await problemsOf(() => call(good))).toEqual([]);
    });

    it("with a mistyped name are refused with the nearest known one", async () => {
      expect(await problemsOf(() => call(mistyped))).toEqual([unknown]);
    });

    it("of the wrong kind are refused with the path, the value and what is allowed", async () => {
      expect(await problemsOf(() => call({ ...good, ...bad }))).toEqual([named(sentence)]);
    });

    it("are refused with all problems at once", async () => {
      const problems = await problemsOf(() => call({ ...mistyped, ...bad }));
      expect([...problems].sort()).toEqual([unknown, named(sentence)].sort());
    });

    it("are refused when they are no object", async () => {
      expect(await problemsOf(() => call("fast"))).toHaveLength(1);
    });
  },
);

describe("every exported function with options", () => {
  it("is in the table above", () => {
    const tried = new Set(ROWS.map(({ name }) => name.split(" ")[0]));
    const missing = functionsWithOptions().filter((name) => !tried.has(name) && EXEMPT[name] === undefined);
    expect(missing).toEqual([]);
  });
});

describe("foreign messages", () => {
  it.each([
    ["opencode.decode", { info: { role: "user" }, parts: [] }],
    ["openaiChat.decode", { role: "tool", tool_call_id: "1", content: "x" }],
    ["anthropic.decode", { role: "user", content: [{ type: "tool_result" }] }],
    ["aiSdk.decode", { role: "assistant", content: [{ type: "tool-call" }] }],
    ["gemini.decode", { role: "model", parts: [{ text: "x" }] }],
    ["openaiResponses.decode", { type: "function_call", call_id: "1" }],
    ["claudeCode.decode", { type: "user", message: { role: "user" }, uuid: "1" }],
    ["openaiChat.decode", { role: "user", content: "hello" }],
  ])("are refused with the format that reads them: %s", async (format, message) => {
    for (const call of [
      () => main.forkContext([message] as never),
      () => documented.processMessagesForFork([message] as never),
      () => session().append(message as never),
      () => session().observe([message] as never),
    ]) {
      expect((await problemsOf(call)).join()).toContain(format);
    }
  });

  it("are refused as a whole request, too", async () => {
    const request = { model: "gpt", messages: [{ role: "user", content: "x" }] };
    expect(await problemsOf(() => main.forkContext(request as never))).toEqual([
      "messages is an object with model, messages; read it first with anthropic.decode(request) or openaiChat.decode(request) of carryover/formats, which gives a transcript",
    ]);
  });
});

describe("settings", () => {
  it("that hold a password are not shown", async () => {
    const [problem] = await problemsOf(() =>
      postgres.createPostgresStores({ conectionString: "hidd3n" } as never),
    );
    expect(problem).not.toContain("hidd3n");
  });

  it("of a format that does not exist name the nearest one", async () => {
    expect(await problemsOf(() => formats.formatOf("opencod" as never))).toEqual([
      '"opencod" is no format; did you mean opencode?',
    ]);
  });

  it("of tool outputs mean the same in a session and alone: what is not named keeps its default", async () => {
    const long = `${"x".repeat(80)}\n`.repeat(1_000);
    const alone = await main.trimToolOutput(long, { limits: { maxLines: 5_000 } });
    expect(alone.truncated).toBe(true);
    const trimming = main.createSession({ clock }, { toolOutput: { maxLines: 5_000 } });
    trimming.append({
      id: "a",
      role: "assistant",
      parts: [
        {
          type: "tool",
          callId: "1",
          tool: "bash",
          input: {},
          outcome: { status: "done", output: long, attachments: [] },
        },
      ],
    });
    expect(trimming.nextAction()).toMatchObject({ type: "trim-outputs" });
  });
});

describe("what cannot be meant", () => {
  // biome-ignore lint/suspicious/noExplicitAny: what is given is wrong on purpose.
  const wild = (value: unknown): any => value;
  const MODEL =
    'give a language model of the AI SDK, such as openai("...") gives, or its name ("provider/model")';
  const CLOCK = "give an object with the functions now and sleep, such as createSystemClock() gives";
  const rows: readonly (readonly [name: string, call: () => unknown, ...problems: readonly string[]])[] = [
    [
      "setOverhead",
      () => session().setOverhead({ toolsChars: -1 }),
      "toolsChars is -1; give a number of 0 or more",
    ],
    ["prepare", () => session().prepare({ idleMs: -4 }), "idleMs is -4; give a number of 0 or more"],
    ["nextAction", () => session().nextAction({ idleMs: -4 }), "idleMs is -4; give a number of 0 or more"],
    [
      "keepLines()",
      () => stages.keepLines(wild(undefined)),
      "keepChars is missing; give a number of 0 or more",
    ],
    ["keepLines({})", () => stages.keepLines(wild({})), "keepChars is missing; give a number of 0 or more"],
    [
      "encode of a wire",
      () => formats.anthropic.encode(wild([{ role: "user", content: [{ type: "tool_result" }] }])),
      "transcript.0 is an object with role, content; read it first with anthropic.decode([…]) of carryover/formats, which gives a transcript",
    ],
    [
      "encode of a session",
      () => formats.openaiChat.encode(wild(session())),
      "transcript is an object with append, observe, nextAction, run, restore, toJSON; give what its messages() gives",
    ],
    ["createSession()", () => main.createSession(wild(undefined)), `ports.clock is missing; ${CLOCK}`],
    [
      "a model that cannot stream",
      () => aiSdkEntry.carryover(wild({ ...model, doStream: undefined })),
      `the model has no function doStream; ${MODEL}`,
    ],
    ["a number of a model", () => aiSdkEntry.carryover(wild(5)), `the model is 5; ${MODEL}`],
  ];
  it.each(rows.map(([name, call, ...problems]) => ({ name, call, problems })))(
    "is refused with what to give: $name",
    async ({ call, problems }) => {
      expect(await problemsOf(call)).toEqual(problems);
    },
  );

  it.each([undefined, {}, { type: "set-atuo" }])("is no change of the settings: %j", (change) => {
    expect(session().change(wild(change))).toEqual({
      status: "rejected",
      problem: `type is ${JSON.stringify(change?.type)}; give "set-auto" or "set-cutoff" or "set-strategy"`,
    });
  });

  it("is no reason to refuse what a model asks the recall tool for", async () => {
    const tool = aiSdkEntry.createRecallTool(session());
    const asked = { handle: "m1/0", fromLine: 0, toLine: -1 };
    expect(await tool.execute?.(asked, wild({}))).toMatch(/^Nothing is kept under this handle/);
  });
});

async function problemsOf(call: () => unknown): Promise<readonly string[]> {
  try {
    await call();
    return [];
  } catch (error) {
    if (error instanceof main.ConfigurationError) return error.problems;
    throw error;
  }
}

/** By the declarations of everything that the entries export: a parameter whose type is named like options. */
function functionsWithOptions(): readonly string[] {
  const source = resolve(import.meta.dirname, "../src");
  const read = (file: string): string => readFileSync(join(source, file), "utf8");
  const entries = ["index", "stages", "formats", "documented", "node", "postgres", "testing", "ai-sdk"];
  const names = entries.flatMap((entry) =>
    [...read(`${entry}.ts`).matchAll(/^export \{([^}]*)\} from "\.\/([^"]+)"/gm)].flatMap(
      ([, list = "", file = ""]) =>
        list
          .split(",")
          .map((name) => name.trim())
          .filter((name) => name !== "" && !name.startsWith("type "))
          .filter((name) => {
            const start = read(file).search(new RegExp(`^export (?:async )?function\\*? ${name}\\b`, "m"));
            return start >= 0 && OPTIONS_TYPE.test(parametersAt(read(file), start));
          }),
    ),
  );
  return [...new Set(names)];
}

const OPTIONS_TYPE =
  /:\s*(?:Partial<|Pick<)?\w*(?:Options|Ports|Settings|Limits|Counts|Request|Input|Facts|Question|Situation|Contract)\b/;

function parametersAt(source: string, start: number): string {
  const from = source.indexOf("(", start);
  let depth = 0;
  for (let index = from; index < source.length; index++) {
    if (source[index] === "(") depth++;
    if (source[index] === ")" && --depth === 0) return source.slice(from, index);
  }
  return "";
}
