import { describe, expect, it } from "vitest";

/** The public surface, name by name: what is here is a promise. */
describe("the public surface", () => {
  it("of carryover", async () => {
    expect(Object.keys(await import("../src/index.ts")).sort()).toMatchInlineSnapshot(`
      [
        "CACHE_PROFILES",
        "CLEARED_PLACEHOLDER",
        "ConfigurationError",
        "DEFAULT_COMPACTION_SETTINGS",
        "DEFAULT_OVERFLOW_SETTINGS",
        "DEFAULT_TOOL_OUTPUT_LIMITS",
        "EXACT_VIEW_MAX_AGE_MS",
        "EXPECTED_FORK_STEPS",
        "FENCED_TAGS",
        "FORK_CHAR_BUDGET",
        "FORK_CHAR_NO_REMOVAL",
        "FORK_ERROR_PATTERNS",
        "FORK_HEAD_RATIO",
        "FORK_HEAD_TAIL_KEYWORDS",
        "FORK_MORE_ERROR_PATTERNS",
        "FORK_NO_TRIM_THRESHOLD",
        "FORK_NO_TRUNCATION_TOOLS",
        "FORK_OWN_TOOLS",
        "FORK_PARAMS_TIER1",
        "FORK_PARAMS_TIER2",
        "FORK_PARAMS_TIER3",
        "FORK_PARAMS_TIER_LIMITS",
        "FORK_TAIL_RATIO",
        "FORK_TIER1_COUNT",
        "FORK_TIER2_COUNT",
        "FORK_TIER2_LIMIT",
        "FORK_TIER3_LIMIT",
        "FORK_TIER_MIDDLE_COUNT",
        "FORK_TIER_MIDDLE_LIMIT",
        "FORK_TIER_OLD_LIMIT",
        "FORK_TIER_RECENT_COUNT",
        "FORK_TIER_RECENT_LIMIT",
        "FRESH_TRIGGER",
        "KEEP_LINES_PROTECTED_TOOLS",
        "KEEP_LINES_PROTECT_RESULTS",
        "OUTPUT_TOKEN_MAX",
        "PRUNE_MINIMUM",
        "PRUNE_PROTECT",
        "PRUNE_PROTECTED_TOOLS",
        "PRUNE_PROTECT_TURNS",
        "RECOVERY_LADDER",
        "TOOL_SUMMARY_STRATEGIES",
        "afterCompaction",
        "afterContextChange",
        "applyEdits",
        "applyGraduatedTruncation",
        "breakEvenSteps",
        "buildForkPreamble",
        "cacheProfileFor",
        "calibrate",
        "changeSettings",
        "charBudget",
        "checkOverflow",
        "chooseForkWay",
        "classifyProviderError",
        "compact",
        "compactToolResultsInRecent",
        "compactionBoundary",
        "createContextTally",
        "createMemoryJournal",
        "createMemoryRecordStore",
        "createMemorySpillStore",
        "createSession",
        "createSystemClock",
        "detectSilentOverflow",
        "effectiveKeepRecentTokens",
        "effectiveTokenLimit",
        "estimateContextTokens",
        "estimateMessageTokens",
        "estimateTokens",
        "fence",
        "fenceData",
        "filterCompacted",
        "findCompactionBoundary",
        "findFaults",
        "forkContext",
        "formatMessagesAsContext",
        "getToolResultTier",
        "graduatedTiers",
        "isContextLengthExceeded",
        "isOverflow",
        "isVisibleToModel",
        "isVisibleToUser",
        "keepLines",
        "learnContextLimit",
        "maxCompactionRecoveries",
        "maybeSummarizeToolResults",
        "normalizeText",
        "normalizeTextWithCounts",
        "omitForChild",
        "planCompaction",
        "planEdits",
        "planRecovery",
        "planToolSummaries",
        "processMessagesForFork",
        "project",
        "prune",
        "pruneStage",
        "readCarriedFacts",
        "readOutputCap",
        "readUsage",
        "redactSecrets",
        "redactSecretsWithReport",
        "redactTranscript",
        "renderMessage",
        "repairPairing",
        "resolveToolOutputLimits",
        "restore",
        "runStages",
        "shouldCompact",
        "shouldUseHeadTail",
        "sliceFromCompactionBoundary",
        "startCalibration",
        "supersede",
        "thresholdKey",
        "tokenFamilyOf",
        "toolResultKind",
        "toolResults",
        "triggerStatus",
        "truncateToolContent",
        "truncateWithStrategy",
        "usableTokens",
        "withMetadata",
      ]
    `);
  });

  it("of carryover/opencode", async () => {
    expect(Object.keys(await import("../src/opencode.ts")).sort()).toEqual(["opencode"]);
  });

  it.each([
    { entry: "anthropic", names: ["anthropic"] },
    { entry: "openai", names: ["openaiChat", "openaiResponses"] },
    { entry: "gemini", names: ["gemini"] },
    { entry: "ai-sdk", names: ["GiveUpError", "aiSdk", "carryover"] },
    { entry: "claude-code", names: ["claudeCode"] },
    { entry: "codex", names: ["codex"] },
    { entry: "pi", names: ["pi"] },
    { entry: "swe-agent", names: ["sweAgent"] },
    { entry: "gemini-cli", names: ["geminiCli"] },
    {
      entry: "transcripts",
      names: ["detectFormat", "formatOf", "readJsonLines", "readTranscript", "transcriptText"],
    },
    { entry: "server", names: ["default"] },
  ])("of carryover/$entry", async ({ entry, names }) => {
    expect(Object.keys(await import(`../src/${entry}.ts`)).sort()).toEqual(names);
  });

  it("of carryover/tasks", async () => {
    expect(Object.keys(await import("../src/tasks.ts")).sort()).toMatchInlineSnapshot(`
      [
        "DEFAULT_FORK_LIMITS",
        "activityOf",
        "admitFork",
        "advanceFork",
        "canAdopt",
        "checkChild",
        "createForkRecord",
        "createLease",
        "currentRun",
        "deliveriesIn",
        "deliveryId",
        "findFork",
        "forkMetadata",
        "forkRoster",
        "forkTable",
        "isLive",
        "leaseState",
        "mustRenew",
        "nextForkNumber",
        "nextToStart",
        "planDelivery",
        "promptKey",
        "quoteChild",
        "readForkLimits",
        "readForkMetadata",
        "readForkRecord",
        "readLease",
        "rebuildForkRecord",
        "resultNotice",
        "rootCostUSD",
      ]
    `);
  });

  it("of carryover/postgres", async () => {
    expect(Object.keys(await import("../src/postgres.ts"))).toEqual(["createPostgresStores"]);
  });

  it("of carryover/node", async () => {
    expect(Object.keys(await import("../src/node.ts")).sort()).toEqual([
      "cleanSpills",
      "createFileJournal",
      "createFileRecordStore",
      "createFileSpillStore",
      "currentProcess",
      "defaultStateFolder",
      "processState",
    ]);
  });

  it("of carryover/testing", async () => {
    expect(Object.keys(await import("../src/testing.ts")).sort()).toMatchInlineSnapshot(`
      [
        "createFakeClock",
        "createFakeSummarizer",
        "deepFreeze",
        "formatLaws",
        "journalContract",
        "notate",
        "recordStoreContract",
        "spillStoreContract",
        "transcript",
      ]
    `);
  });

  it("has no token budget and no uniform limits (document 000, Decision 5)", async () => {
    const names = Object.keys(await import("../src/index.ts"));
    for (const gone of ["FORK_MAX_TOKENS", "FORK_TOOL_RESULT_LIMIT", "FORK_TOOL_PARAMS_LIMIT"]) {
      expect(names).not.toContain(gone);
    }
  });

  it("has the documented constants", async () => {
    expect(await import("../src/index.ts")).toMatchObject({
      FORK_CHAR_BUDGET: 200_000,
      FORK_CHAR_NO_REMOVAL: 120_000,
      FORK_NO_TRIM_THRESHOLD: 120_000,
      FORK_TIER1_COUNT: 5,
      FORK_TIER_RECENT_COUNT: 5,
      FORK_TIER2_COUNT: 10,
      FORK_TIER_MIDDLE_COUNT: 10,
      FORK_TIER_RECENT_LIMIT: Number.POSITIVE_INFINITY,
      FORK_TIER2_LIMIT: 3_000,
      FORK_TIER_MIDDLE_LIMIT: 3_000,
      FORK_TIER3_LIMIT: 500,
      FORK_TIER_OLD_LIMIT: 500,
      FORK_PARAMS_TIER1: 500,
      FORK_PARAMS_TIER2: 200,
      FORK_PARAMS_TIER3: 100,
      FORK_PARAMS_TIER_LIMITS: [500, 200, 100],
      FORK_HEAD_RATIO: 0.8,
      FORK_TAIL_RATIO: 0.2,
      FORK_ERROR_PATTERNS: ["error", "Error", "ERROR", "failed", "FAILED", "exception", "traceback"],
      FORK_HEAD_TAIL_KEYWORDS: ["bash", "pty", "exec"],
      FORK_NO_TRUNCATION_TOOLS: ["ask_user_questions", "question", "skill"],
    });
  });
});
