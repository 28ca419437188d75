import { COMPACTION_SHAPE } from "../../src/compaction/trigger/compaction-settings.ts";
import { OVERFLOW_SHAPE } from "../../src/compaction/trigger/overflow.ts";
import { FORK_SHAPE } from "../../src/fork/context/options.ts";
import { PLUGIN_FORK_SHAPE, PLUGIN_SHAPE } from "../../src/plugin/context/options.ts";
import { sessionShape } from "../../src/session/options.ts";
import { PRUNE_SHAPE } from "../../src/stages/prune.ts";
import { DOCUMENTED_TIER_LIMITS } from "../../src/stages/tiers.ts";
import { FILE_OUTPUT_LIMITS } from "../../src/stores/files/clean-outputs.ts";
import { POSTGRES_OUTPUT_LIMITS } from "../../src/stores/postgres/clean-outputs.ts";
import { DATABASE_DEFAULTS } from "../../src/stores/postgres/database.ts";
import { defaultsOf } from "../../src/text/check.ts";
import { TOOL_OUTPUT_LIMIT_SHAPE } from "../../src/tool-output/limits.ts";

/** The options of one function: where they are declared, and what holds for all of them. */
export interface Surface {
  readonly title: string;
  /** Set where only `profile: "documented"` and `carryover/documented` take these. */
  readonly profile?: "documented";
  readonly about: string;
  readonly file: string;
  readonly interface: string;
  /** Interfaces that it extends and whose options are listed with it. */
  readonly inherits?: readonly { readonly file: string; readonly interface: string }[];
  /** Of those, options that cannot be set. */
  readonly omits?: readonly string[];
  /** The defaults of the code, by option. */
  readonly defaults?: object;
  /** Those of the documented profile. */
  readonly documented?: object;
  /** What holds for an option whose comment has no such tag. */
  readonly from?: string;
  readonly when?: string;
  readonly unit?: string;
}

const D0 = "documents 000 to 002";
const D3 = "document 003";
const D4 = "document 004";
const OWN = "this project";

/** What takes options, in the order of the page. The options themselves are read from the interfaces. */
export const SURFACES: readonly Surface[] = [
  {
    title: "`createSession(ports, options)`",
    about:
      "What a session does where its options say nothing depends on `profile`; where the two differ, both defaults are given. What was an option once is refused with what to give instead. [Models](concepts/models.md) says what a row of `models` holds.",
    file: "src/session/options.ts",
    interface: "SessionOptions",
    defaults: defaultsOf(sessionShape({})),
    documented: defaultsOf(sessionShape({ profile: "documented" })),
    from: OWN,
  },
  {
    title: "`ports` of `createSession`",
    about: "What a session needs from the world. Only the clock must be given: `createSystemClock()`.",
    file: "src/session/options.ts",
    interface: "SessionPorts",
    from: OWN,
  },
  {
    title: "`limits`",
    about: "What the model accepts. A refusal that names a figure corrects it while the session runs.",
    file: "src/compaction/trigger/overflow.ts",
    interface: "ModelLimits",
    from: D3,
    when: "you know the model",
  },
  {
    title: "`perTool` of a session",
    about: 'What one tool wants otherwise, by its name: `perTool: { get_plan: { keep: "always" } }`.',
    file: "src/session/options.ts",
    interface: "ToolPolicy",
    from: "decision 0033",
  },
  {
    title: "Limits of a tool output",
    about:
      'For `trimToolOutput`, `toolOutput` of a session, the middleware and the plugin; the last two for `trimToolOutput` and `profile: "documented"`. A limit that is not named keeps its default; 0 turns one off.',
    file: "src/tool-output/limits.ts",
    interface: "ToolOutputLimits",
    defaults: defaultsOf(TOOL_OUTPUT_LIMIT_SHAPE),
    from: D4,
  },
  {
    title: "`trimToolOutput(output, options)`",
    about: "Trims one output where there is no session.",
    file: "src/tool-output/doors.ts",
    interface: "TrimToolOutputOptions",
    from: D4,
  },
  {
    title: "`forkContext(transcript, options)`",
    about:
      "What a child inherits. `processMessagesForFork` takes the same options and has the profile `documented`.",
    file: "src/fork/context/options.ts",
    interface: "ForkOptions",
    defaults: defaultsOf(FORK_SHAPE),
    from: D0,
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
  },
  {
    title: "Conversations of hosts: `carryover(model, options)`, `carryoverMiddleware(options)`",
    about:
      'Both take every option of `createSession` but `model`, `systemChars` and `toolsChars`, which they know, and these. OpenClaw takes the options of `createSession` that JSON can hold, and `folder`; `compactAt: "never"` leaves the compaction to OpenClaw.',
    file: "src/middleware/options.ts",
    interface: "ConversationOptions",
    from: OWN,
  },
  {
    title: "`carryover(model, options)`",
    about: "What only the AI SDK takes, or takes in another form.",
    file: "src/hosts/ai-sdk/options.ts",
    interface: "CarryoverOptions",
    from: OWN,
  },
  {
    title: "`carryoverMiddleware(options)`",
    about: "What only LangChain takes, or takes in another form.",
    file: "src/hosts/langchain/carryover-middleware.ts",
    interface: "CarryoverMiddlewareOptions",
    from: OWN,
  },
  {
    title: "`compact(messages, options)` of `carryover/ai-sdk`",
    about:
      "Takes every option of `carryover()`, and these; `compact` of what `carryover()` gives takes `signal`.",
    file: "src/hosts/ai-sdk/carryover.ts",
    interface: "CompactMessagesOptions",
    inherits: [{ file: "src/hosts/ai-sdk/carryover.ts", interface: "CompactNowOptions" }],
    from: OWN,
  },
  {
    title: "`store` of `carryover()`",
    about: "In memory, as files (`carryover/node`) or in PostgreSQL (`carryover/postgres`).",
    file: "src/hosts/ai-sdk/options.ts",
    interface: "CarryoverStore",
    from: OWN,
    when: "something has to outlive the request",
  },
  {
    title: "The plugin",
    about:
      '`"plugin": [["carryover", { … }]]` in the configuration of OpenCode. With an option that is not understood nothing starts.',
    file: "src/plugin/context/options.ts",
    interface: "PluginOptions",
    defaults: defaultsOf(PLUGIN_SHAPE),
    from: OWN,
  },
  {
    title: "`fork` of the plugin",
    about: "Most are limits of the background agents that the model may start.",
    file: "src/plugin/context/options.ts",
    interface: "PluginForkOptions",
    inherits: [{ file: "src/fork/life/limits.ts", interface: "ForkLimitOptions" }],
    defaults: defaultsOf(PLUGIN_FORK_SHAPE),
    from: OWN,
  },
  {
    title: "`models` of the plugin",
    about: 'By `"provider/model"`. [Models](concepts/models.md) says what a row of `facts` holds.',
    file: "src/plugin/context/options.ts",
    interface: "ModelOptions",
    from: OWN,
    unit: 'tokens, or a share such as "80%"',
  },
  {
    title: "Options that only the documented profile takes",
    profile: "documented",
    about:
      'The words of documents 003 and 004. Without `profile: "documented"` they are refused with the option to use, such as `compactAt` and `keepTokens`, which this profile does not take.',
    file: "src/session/options.ts",
    interface: "DocumentedSessionOptions",
    defaults: defaultsOf(sessionShape({ profile: "documented" })),
  },
  {
    title: "`compaction` in the documented profile",
    profile: "documented",
    about:
      'Settings of document 004: for a session with `profile: "documented"`, and for `planCompaction`. Without the profile each is refused with the option to use.',
    file: "src/compaction/trigger/compaction-settings.ts",
    interface: "CompactionSettings",
    omits: ["thresholds"],
    defaults: defaultsOf(COMPACTION_SHAPE),
    from: D4,
  },
  {
    title: "`overflow` in the documented profile",
    profile: "documented",
    about: "How the usage that a provider reports is compared with the window.",
    file: "src/compaction/trigger/overflow.ts",
    interface: "OverflowSettings",
    defaults: defaultsOf(OVERFLOW_SHAPE),
    from: D3,
  },
  {
    title: "`prune` in the documented profile, `prune()`, `pruneStage()`",
    profile: "documented",
    about: `The documents' pruning, as a function, a stage, and of a session with \`profile: "documented"\`.`,
    file: "src/stages/prune.ts",
    interface: "PruneOptions",
    defaults: defaultsOf(PRUNE_SHAPE),
    from: D3,
  },
  {
    title: "`session.nextAction(asked)`, `session.prepare(options)`",
    about: "`prepare` also takes `signal`, which ends the preparation.",
    file: "src/session/action.ts",
    interface: "NextActionOptions",
    from: D4,
  },
  {
    title: "`session.setOverhead(overhead)`",
    about: "What is sent beside the messages.",
    file: "src/session/measure.ts",
    interface: "PromptOverhead",
    from: D4,
    when: "system prompt or tools change while the session runs",
  },
  {
    title: "`session.setManagement(management)`",
    about: "What the provider does about the window by itself.",
    file: "src/session/window.ts",
    interface: "ProviderManagement",
    from: "decision 0034",
    when: "requests ask the provider to clear or compact",
  },
  {
    title: "`summarizer` of a session",
    about: "The model that writes summaries, its limits, and what it is told.",
    file: "src/compaction/ports/summarizer.ts",
    interface: "SummarizerModel",
    from: D3,
    when: "summaries are written by another model",
  },
  {
    title:
      "Stages: `compactionBoundary`, `charBudget`, `keepLines`, `graduatedTiers`, `repairPairing(messages, options)`, `omitForChild`",
    about:
      "Each takes one of these. `omitForChild` takes `ownTools` and `model`, as `forkContext` does; `supersede()` takes nothing.",
    file: "src/stages/doors/stages.ts",
    interface: "CompactionBoundaryOptions",
    inherits: [
      { file: "src/stages/doors/stages.ts", interface: "CharBudgetOptions" },
      { file: "src/stages/doors/stages.ts", interface: "KeepLinesOptions" },
      { file: "src/stages/doors/stages.ts", interface: "GraduatedTiersOptions" },
      { file: "src/stages/doors/stages.ts", interface: "RepairPairingOptions" },
      { file: "src/fork/context/omit-for-child.ts", interface: "OmitForChildOptions" },
    ],
    from: OWN,
    when: "you build a pipeline of your own",
  },
  {
    title: "`estimateContextTokens(transcript, options)`, `estimateMessageTokens(message, options)`",
    about:
      "The first two count for single messages, too. `estimateTokens(text, options)` takes `estimator`, `family` and `rounding` (`nearest`, `ceil` or `floor-min-1`).",
    file: "src/transcript/doors.ts",
    interface: "MessageEstimateOptions",
    inherits: [{ file: "src/transcript/doors.ts", interface: "ContextEstimateOptions" }],
    from: D4,
    when: "you show or decide by estimates",
  },
  {
    title: "`planCompaction(input)` of `carryover/documented`",
    profile: "documented",
    about: "Decides a compaction without doing it.",
    file: "src/compaction/doors.ts",
    interface: "CompactionInput",
    from: `${D3}, ${D4}`,
    when: "you compact without a session",
  },
  {
    title: "`compact(plan, ports, options)` of `carryover/documented`",
    profile: "documented",
    about: "Carries the plan out.",
    file: "src/compaction/doors.ts",
    interface: "CompactOptions",
    from: D3,
    when: "you compact without a session",
  },
  {
    title: "`maybeSummarizeToolResults(transcript, options)` of `carryover/documented`",
    profile: "documented",
    about:
      "Sums up the oldest tool results. `compactToolResultsInRecent(messages, cutoff)` archives those of what stays, and takes no options.",
    file: "src/compaction/doors.ts",
    interface: "MaybeSummarizeOptions",
    from: D4,
    when: "you sum up results without a session",
  },
  {
    title: "`truncateToolContent(blocks, limits, store, options)` of `carryover/documented`",
    profile: "documented",
    about: "The limits are those of a tool output.",
    file: "src/tool-output/doors.ts",
    interface: "TruncateToolContentOptions",
    from: OWN,
    when: "escapes, or what is cut, matter elsewhere",
  },
  {
    title: "`processMessagesForFork(messages, options)` and forks of the documented profile",
    profile: "documented",
    about: "Beside the options of `forkContext`.",
    file: "src/fork/context/options.ts",
    interface: "DocumentedForkOptions",
    defaults: defaultsOf(FORK_SHAPE),
    from: D0,
  },
  {
    title: "`redactSecrets(text, options)`, `redactTranscript(options)`, `redaction`",
    about: "Options for finding secrets, wherever that happens.",
    file: "src/text/secrets/redact-secrets.ts",
    interface: "RedactOptions",
    from: D3,
  },
  {
    title: "`classifyProviderError(error, options)`, `session.onProviderError`",
    about: "What is known about a refusal.",
    file: "src/compaction/provider-errors/classify-provider-error.ts",
    interface: "ClassifyOptions",
    from: D4,
    when: "the error does not say who sent it",
  },
  {
    title: "`createFileOutputStore(options)`, `cleanOutputs(options)`",
    about: "Long outputs as files. `cleanOutputs` needs `root`.",
    file: "src/stores/files/output-store.ts",
    interface: "FileOutputStoreOptions",
    defaults: FILE_OUTPUT_LIMITS,
    from: "decision 0005",
    when: "outputs need more room, or less",
  },
  {
    title: "`createFileJournal(options)`, `createFileRecordStore(options)`",
    about: "A record store takes `root`.",
    file: "src/stores/files/journal.ts",
    interface: "FileJournalOptions",
    from: "decision 0005",
    when: "sessions and forks are kept as files",
  },
  {
    title: "`createPostgresStores(options)`",
    about: "One of `connectionString` and `pool` must be given.",
    file: "src/stores/postgres/door.ts",
    interface: "PostgresStoresOptions",
    inherits: [{ file: "src/stores/postgres/database.ts", interface: "PostgresDatabaseOptions" }],
    defaults: { ...DATABASE_DEFAULTS, ...POSTGRES_OUTPUT_LIMITS },
    from: "decision 0023",
    when: "agents on several machines share a database",
  },
  {
    title: "`readTranscript(source, options)`, `readJsonLines(source, options)`",
    about: "Session files.",
    file: "src/formats/read-transcript.ts",
    interface: "ReadTranscriptOptions",
    inherits: [{ file: "src/formats/lines/read-json-lines.ts", interface: "ReadJsonLinesOptions" }],
    from: "decision 0016",
    when: "files are huge, or broken lines have to be seen",
  },
  {
    title:
      "`applyEdits(transcript, edits, options)`, `format.apply(wire, edits, options)`, `runStages(transcript, stages, options)`",
    about: "The engine has no clock of its own.",
    file: "src/transcript/edit.ts",
    interface: "ApplyOptions",
    from: OWN,
    when: "always; `runStages` needs it only where outputs are cleared",
  },
  {
    title: "`buildForkPreamble(stats, options)` of `carryover/documented`",
    profile: "documented",
    about: "What a child is told about what it inherits.",
    file: "src/fork/context/format.ts",
    interface: "ForkPreambleOptions",
    from: D0,
    when: "the child can read again what was cut",
  },
];
