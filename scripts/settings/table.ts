import { DEFAULT_OVERFLOW_SETTINGS } from "../../src/compaction/trigger/overflow.ts";
import { readForkOptions } from "../../src/fork/context/options.ts";
import { readPluginOptions } from "../../src/plugin/context/options.ts";
import { readSessionOptions } from "../../src/session/options.ts";
import { PRUNE_DEFAULTS } from "../../src/stages/prune.ts";
import { DOCUMENTED_TIER_LIMITS } from "../../src/stages/tiers.ts";
import { DEFAULT_TOOL_OUTPUT_LIMITS } from "../../src/tool-output/limits.ts";
import type { Group } from "./group.ts";
import { MORE_GROUPS } from "./more-groups.ts";

const session = readSessionOptions({});
const documented = readSessionOptions({ profile: "documented" });
const plugin = readPluginOptions({}).options;

const D0 = "documents 000 to 002";
const D3 = "document 003";
const D4 = "document 004";
const OWN = "this project";

/** The options that people set, in the order of the page. Sentences come from the types, defaults from the code. */
export const GROUPS: readonly Group[] = [
  {
    title: "`createSession(ports, options)`",
    about:
      "What a session does where its options say nothing depends on `profile`; where the two differ, both defaults are given. What was an option once is refused with what to give instead.",
    file: "src/session/options.ts",
    interface: "SessionOptions",
    defaults: session,
    documented,
    notes: {
      profile: {
        documented: "`default`",
        from: OWN,
        when: "you want exactly what the published documents say, to compare or to reproduce",
      },
      model: {
        default: "from the first answer",
        from: D4,
        when: "the model is known before its first answer: it decides cache prices and token family",
      },
      limits: {
        default: "what is known of the model",
        from: `${D3}, ${D4}`,
        when: "the window is another one than is known; what a refusal names is learned in any case",
      },
      models: {
        default: "those that are built in",
        from: OWN,
        when: "windows or prices differ, or a model is not in the table ([Models](concepts/models.md))",
      },
      compactAt: {
        default: "when it is full",
        from: OWN,
        when: "requests shall stay small, answers get worse long before the window is full, or only a person decides",
      },
      keepTokens: {
        default: "a quarter of the usable window",
        from: D3,
        when: "more or less of the newest work has to stay word for word",
      },
      summarizer: {
        default: "the driver's choice",
        from: D3,
        when: "another, cheaper model writes summaries, so that its window is known",
      },
      pins: { default: "none", from: OWN, when: "something must survive every compaction word for word" },
      autoContinue: { default: "as-needed", from: D3, when: "your loop asks the model to go on by itself" },
      prune: {
        default: "by line",
        documented: "cleared by size",
        from: `${D3}; lines: measured, decision 0022`,
        when: "nothing may leave the window without a summary (`off`)",
      },
      perTool: {
        default: "none",
        from: OWN,
        when: "the outputs of a tool must stay, or need less or more room than others",
      },
      stages: {
        default: "none",
        from: OWN,
        when: "something of your product must not reach the model, or not for long",
      },
      toolOutput: {
        default: "the limits below, within shares of the window",
        documented: "the limits below",
        from: D4,
        when: "outputs are bounded elsewhere (`off`), or your tools print more that matters",
      },
      estimator: {
        from: "documented: document 004; calibrated: decision 0003",
        when: "you have a tokenizer of your own: give a function",
      },
      systemChars: { default: "0", from: D4, when: "the system prompt is no message of the transcript" },
      toolsChars: { default: "0", from: D4, when: "tools are sent beside the messages" },
      backgroundCompaction: {
        from: "decision 0033",
        when: "every token counts and nobody minds waiting, or the summarizer is the same single-slot server",
      },
      redaction: {
        default: "on, with the built-in rules",
        from: D3,
        when: "you have secrets of your own form (`extraRules`), or need them in summaries (`off`)",
      },
      recallTool: { default: "none", from: OWN, when: "the model has a tool that recalls" },
      onEvent: { default: "none", from: D4, when: "you show progress, or log" },
    },
  },
  {
    title: "`ports` of `createSession`",
    about: "What a session needs from the world. Only the clock must be given: `createSystemClock()`.",
    file: "src/session/options.ts",
    interface: "SessionPorts",
    from: OWN,
    notes: {
      clock: { default: "must be given", when: "tests have a clock of their own" },
      summarizer: {
        default: "none: summaries are made mechanically",
        when: "always, if a model can be asked",
      },
      journal: { default: "none", when: "the session has to survive a restart" },
      spills: {
        default: "none: only the messages given to the session have the whole",
        when: "those messages are not kept, and cut outputs shall be read again",
      },
      hooks: {
        default: "none",
        from: D3,
        when: "an extension adds to a summary, replaces its prompt, or forbids it",
      },
    },
  },
  {
    title: "`limits`",
    about: "What the model accepts. A refusal that names a figure corrects it while the session runs.",
    file: "src/compaction/trigger/overflow.ts",
    interface: "ModelLimits",
    from: D3,
    when: "you know the model",
    notes: {
      contextTokens: { default: "unknown (0)" },
      outputTokens: { default: "unknown (0)" },
      inputTokens: { default: "none of its own" },
    },
  },
  {
    title: "`perTool` of a session",
    about: 'What one tool wants otherwise, by its name: `perTool: { get_plan: { keep: "always" } }`.',
    file: "src/session/options.ts",
    interface: "ToolPolicy",
    from: "decision 0033",
    notes: {
      maxChars: { default: "as `toolOutput` says", when: "a tool prints too much, or is cut too early" },
      keep: { default: "like other outputs", when: "the model must have an output before it for good" },
    },
  },
  {
    title: "Limits of a tool output",
    about:
      'For `boundToolOutput`, `toolOutput` of a session, the middleware and the plugin; the last two for `boundToolOutput` and `profile: "documented"`. A limit that is not named keeps its default; 0 turns one off.',
    file: "src/tool-output/limits.ts",
    interface: "ToolOutputLimits",
    defaults: DEFAULT_TOOL_OUTPUT_LIMITS,
    from: D4,
    notes: {
      maxLines: { when: "your tools print long lists that matter whole" },
      maxBytes: { when: "the window is much smaller or larger than 100,000 tokens" },
      maxChars: { unit: "code points", when: "as above, where bytes do not tell" },
      largeOutputThreshold: { unit: "code points", when: "shorter outputs shall be stored whole, too" },
      truncateMode: { when: "the end of an output never matters to you" },
    },
  },
  {
    title: "`boundToolOutput(output, options)`",
    about: "Bounds one output where there is no session.",
    file: "src/tool-output/doors.ts",
    interface: "BoundToolOutputOptions",
    from: D4,
    notes: {
      limits: { default: "as above", when: "one tool needs other limits" },
      store: { default: "none", when: "what is cut shall be read again" },
      cut: { default: "none", from: OWN, when: "an output may come by twice" },
      redact: { default: "off", from: OWN, when: "outputs hold secrets" },
      recallTool: { default: "none", from: OWN, when: "the model has a tool that reads the store" },
    },
  },
  {
    title: "`forkContext(transcript, options)`",
    about:
      "What a child inherits. `processMessagesForFork` takes the same options and has the profile `documented`.",
    file: "src/fork/context/options.ts",
    interface: "ForkOptions",
    defaults: { ...readForkOptions({}), limits: undefined },
    from: D0,
    notes: {
      budgetChars: { when: "the child's window is small, or its task needs more" },
      profile: { from: "default: measured, decision 0020", when: "you want the fixed limits by age" },
      sessionId: { default: "unset", from: OWN, when: "inherited text comes from people you do not trust" },
      ownTools: { from: OWN, when: "your tools for children have other names" },
      directive: { default: "unset", from: OWN, when: "you know the child's task: always" },
      model: { default: "the newest in the messages", from: OWN, when: "the child asks another model" },
      redact: { default: "unset", from: OWN, when: "the child runs at another provider" },
    },
  },
  {
    title: "`limits` of forks of the documented profile",
    profile: "documented",
    about: "How much the documented profile keeps of a result and of an input, by age.",
    file: "src/stages/tiers.ts",
    interface: "TierLimits",
    inherits: [{ file: "src/stages/tiers.ts", interface: "TierCounts" }],
    defaults: DOCUMENTED_TIER_LIMITS,
    from: D0,
    when: "recent work is longer or shorter than usual; all of them are given together",
    notes: {
      tier1Count: { unit: "results" },
      tier2Count: { unit: "results" },
      resultChars: {},
      paramsChars: {},
    },
  },
  {
    title: "Conversations of hosts: `carryover(model, options)`, `carryoverMiddleware(options)`",
    about:
      'Both take every option of `createSession` but `model`, `systemChars` and `toolsChars`, which they know, and these. OpenClaw takes the options of `createSession` that JSON can hold, and `folder`; `compactAt: "never"` leaves the compaction to OpenClaw.',
    file: "src/middleware/options.ts",
    interface: "ConversationOptions",
    inherits: [{ file: "src/middleware/options.ts", interface: "OwnConversationOptions" }],
    from: OWN,
    notes: {
      autoContinue: {
        default: "`never`",
        from: OWN,
        when: "your loop waits for a user's message after a compaction",
      },
      onUsage: { default: "none", when: "you bill or watch tokens" },
      onEvent: { default: "none", when: "you show what happens" },
      telemetry: { default: "none", when: "you trace with OpenTelemetry" },
      hooks: { default: "none", from: D3, when: "as for a session" },
      clock: { default: "the system's", when: "in tests" },
    },
  },
  {
    title: "`carryover(model, options)`",
    about: "What only the AI SDK takes, or takes in another form.",
    file: "src/hosts/ai-sdk/options.ts",
    interface: "CarryoverOptions",
    from: OWN,
    notes: {
      summarizer: { default: "the model itself", from: D3, when: "a cheaper model writes summaries" },
      store: { default: "none", when: "cut outputs shall be recalled, or a restart goes on" },
      restore: { default: "nothing", when: "a conversation is loaded again" },
      persist: { default: "none", when: "you store conversations in a database" },
      onCompact: { default: "none", when: "you store conversations" },
      recallTool: {
        default: "as the request says, else none",
        when: "you use `prepareStep` alone, which sees no tools",
      },
    },
  },
  {
    title: "`carryoverMiddleware(options)`",
    about: "What only LangChain takes, or takes in another form.",
    file: "src/hosts/langchain/carryover-middleware.ts",
    interface: "CarryoverMiddlewareOptions",
    from: OWN,
    notes: {
      summarizer: { default: "the agent's model", from: D3, when: "a cheaper model writes summaries" },
      store: { default: "none", when: "checkpoints shall stay small: long outputs are then kept there" },
      recallTool: { default: "`recall`", when: "you have a tool of that name" },
    },
  },
  {
    title: "`compact(messages, options)` of `carryover/ai-sdk`",
    about:
      "Takes every option of `carryover()`, and these; `compact` of what `carryover()` gives takes `signal`.",
    file: "src/hosts/ai-sdk/carryover.ts",
    interface: "CompactMessagesOptions",
    inherits: [{ file: "src/hosts/ai-sdk/carryover.ts", interface: "CompactNowOptions" }],
    from: OWN,
    notes: {
      model: { default: "none: a mechanical summary", when: "a model shall write the summary" },
      signal: { default: "none", when: "the user may cancel" },
    },
  },
  {
    title: "`store` of `carryover()`",
    about: "In memory, as files (`carryover/node`) or in PostgreSQL (`carryover/postgres`).",
    file: "src/hosts/ai-sdk/options.ts",
    interface: "CarryoverStore",
    from: OWN,
    when: "something has to outlive the request",
    notes: { spills: { default: "none" }, journal: { default: "none" } },
  },
  {
    title: "The plugin",
    about:
      '`"plugin": [["carryover", { … }]]` in the configuration of OpenCode. With an option that is not understood nothing starts.',
    file: "src/plugin/context/options.ts",
    interface: "PluginOptions",
    defaults: { ...plugin, fork: undefined, toolOutput: undefined },
    from: OWN,
    notes: {
      profile: { when: "nothing but the documents' fork shall happen" },
      fork: { default: "see below", when: "forks cost too much, or wait too long" },
      toolOutput: {
        default: "the limits above",
        from: D4,
        when: "outputs shall be left alone (`false`), or other limits fit",
      },
      prune: {
        from: D3,
        when: "long sessions shall be cheaper (`auto`), or nothing may leave without a summary (`off`)",
      },
      compaction: {
        from: D3,
        when: "summaries of the host lose pins and facts (`assist`), or are slow or dear (`own`, in OpenCode 2)",
      },
      pin: { when: "instructions must survive every compaction" },
      models: { when: "one model shall be treated differently" },
      store: {
        default: "the state folder of the user",
        when: "several machines share forks (`postgres://…`), or the disk is elsewhere",
      },
      redact: { when: "you have secrets of your own form" },
      log: { when: "you look for a fault" },
    },
  },
  {
    title: "`fork` of the plugin",
    about: "Most are limits of the background agents that the model may start.",
    file: "src/plugin/context/options.ts",
    interface: "PluginForkOptions",
    inherits: [{ file: "src/fork/life/record.ts", interface: "ForkLimitOptions" }],
    defaults: plugin.fork,
    from: OWN,
    notes: {
      profile: { from: D0, when: "forks alone shall follow the documents" },
      way: { when: "you know better than the prices of the cache" },
      budgetChars: { default: "200,000", from: D0, when: "children get too much or too little" },
      onForkError: { when: "a child without its parent's context is worse than none" },
      allowCrossProvider: { when: "children may run elsewhere; secrets are taken out then" },
      maxRunning: { unit: "forks", when: "the machine or the account takes more" },
      timeoutMin: { when: "tasks take longer" },
      maxToolCalls: { unit: "calls", when: "tasks need more steps" },
      forkUSD: { when: "a task may cost more" },
      askTimeoutS: { when: "nobody answers, or people take longer" },
    },
  },
  {
    title: "`models` of the plugin",
    about: 'By `"provider/model"`.',
    file: "src/plugin/context/options.ts",
    interface: "ModelOptions",
    from: OWN,
    unit: 'tokens, or a share such as "80%"',
    notes: {
      pruneAt: {
        default: "`when-full`: nine tenths of where the agent compacts; `auto`: by size and prices",
        when: "pruning shall begin at another size",
      },
      keepTokens: {
        default: "the newest 10, however long",
        from: D3,
        when: "more or less of the newest outputs has to stay whole",
      },
      facts: {
        default: "what the agent says, else what is built in",
        unit: "the cells of a row ([Models](concepts/models.md))",
        when: "your window or prices differ",
      },
    },
  },
  {
    title: "Options that only the documented profile takes",
    about:
      'The words of documents 003 and 004. Without `profile: "documented"` they are refused with the option to use, such as `compactAt` and `keepTokens`, which this profile does not take.',
    profile: "documented",
    file: "src/session/options.ts",
    interface: "DocumentedSessionOptions",
    notes: {
      compaction: {
        default: "see below",
        from: D4,
        when: "a window is compacted too early, too late, or keeps too little",
      },
      overflow: { default: "see below", from: D3, when: "the provider counts differently" },
      representation: {
        default: "`pivot`",
        from: "pivot: document 003; user-summary: document 004",
        when: "a provider or a host wants the summary as the user's words",
      },
    },
  },
  {
    title: "`compaction` in the documented profile",
    profile: "documented",
    about:
      'Settings of document 004: for a session with `profile: "documented"`, and for `planCompaction`. Without the profile each is refused with the option to use.',
    file: "src/compaction/trigger/should-compact.ts",
    interface: "CompactionSettings",
    omits: ["thresholds"],
    defaults: documented.settings,
    from: D4,
    notes: {
      maxMessages: { unit: "messages", when: "neither window nor token limit is known" },
      maxTokens: { when: "the window is unknown, and you know about how much it takes" },
      keepRecent: {
        unit: "messages",
        when: "you count messages: given alone it replaces `keepRecentTokens`",
      },
      keepRecentTokens: { when: "more of the newest work has to stay word for word" },
      reserveTokens: { when: "answers are much longer or shorter than 16,000 tokens" },
      toolCallCutoff: { unit: "results", when: "tool summaries are on and shall come earlier or later" },
      toolSummaryStrategy: { when: "old results shall be summed up before the window is full" },
      toolSummaryMode: { when: "the agent may wait (`sync`), or shall not (`background`)" },
      autoCompact: { when: "only a person decides: then a full window is refused by the provider" },
    },
  },
  {
    title: "`overflow` in the documented profile",
    profile: "documented",
    about: "How the usage that a provider reports is compared with the window.",
    file: "src/compaction/trigger/overflow.ts",
    interface: "OverflowSettings",
    defaults: DEFAULT_OVERFLOW_SETTINGS,
    from: D3,
    notes: {
      auto: { when: "reported usage must not start a compaction" },
      outputCapTokens: {
        when: "answers may be longer than this; the environment variable below sets it for a whole program",
      },
      reservedTokens: {
        default: "20,000, or the output reserve where that is less",
        when: "`formula` is `opencode` and the input limit needs another margin",
      },
      formula: { when: "you compare with the program OpenCode itself" },
    },
  },
  {
    title: "`prune` in the documented profile, `prune()`, `pruneStage()`",
    profile: "documented",
    about: 'The documents\' pruning, as a function, a stage, and of a session with `profile: "documented"`.',
    file: "src/stages/prune.ts",
    interface: "PruneOptions",
    defaults: { ...PRUNE_DEFAULTS, estimate: undefined },
    from: D3,
    notes: {
      protectTokens: { when: "more of the newest outputs must stay" },
      minimumTokens: { when: "a change of the prefix is cheaper or dearer for you" },
      protectTurns: {
        unit: "turns of the user",
        when: "one turn of yours is a long loop: 0 lets old outputs of it go",
      },
      protectedTools: { when: "a tool prints instructions that must stay" },
      estimate: { default: "characters / 4", when: "the thresholds shall count real tokens" },
    },
  },
  ...MORE_GROUPS,
];
