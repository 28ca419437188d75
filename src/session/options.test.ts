import { describe, expect, it } from "vitest";
import { LIMITS_SHAPE, OVERFLOW_SHAPE } from "../compaction/trigger/overflow.ts";
import { acceptedKeys, ConfigurationError } from "../text/check.ts";
import { TOOL_OUTPUT_LIMIT_SHAPE } from "../tool-output/limits.ts";
import { readSessionOptions, type SessionOptions, sessionShape } from "./options.ts";

const read = (options: object) => readSessionOptions(options as SessionOptions);

const problemsOf = (options: object): readonly string[] => {
  try {
    read(options);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
};

const DOCUMENTED = { profile: "documented" } as const;
/** Document 004, "Core Configuration". */
const DOCUMENT_004 = {
  ...{ maxMessages: 50, maxTokens: 8_000, keepRecent: 5, keepRecentTokens: 20_000, reserveTokens: 16_384 },
  ...{ toolCallCutoff: 10, toolSummaryStrategy: "llm", autoCompact: true },
} as const;

describe("an option that is undefined", () => {
  it.each([
    ...acceptedKeys(sessionShape({})).map((name) => [name, {}] as const),
    ...acceptedKeys(sessionShape(DOCUMENTED)).map((name) => [name, DOCUMENTED] as const),
  ])("is one that is not given: %s", (name, profile) => {
    expect(read({ ...profile, [name]: undefined })).toStrictEqual(read(name === "profile" ? {} : profile));
  });

  it.each([
    ...Object.keys(LIMITS_SHAPE).map((name) => ["limits", name]),
    ...Object.keys(DOCUMENT_004).map((name) => ["compaction", name]),
    ...Object.keys(OVERFLOW_SHAPE).map((name) => ["overflow", name]),
    ...Object.keys(TOOL_OUTPUT_LIMIT_SHAPE).map((name) => ["toolOutput", name]),
    ...["protectTokens", "minimumTokens", "protectedTools"].map((name) => ["prune", name]),
  ])("is one that is not given: %s.%s", (group = "", name = "") => {
    expect(read({ ...DOCUMENTED, [group]: { [name]: undefined } })).toStrictEqual(
      read({ ...DOCUMENTED, [group]: {} }),
    );
  });

  it("does not bring back the tokens that a number of messages replaces", () => {
    const { settings } = read({ ...DOCUMENTED, compaction: { keepRecent: 3, keepRecentTokens: undefined } });
    expect(settings).toMatchObject({ keepRecent: 3, keepRecentTokens: 0 });
  });
});

describe("how much stays, and when", () => {
  it("is one option each", () => {
    expect(read({}).tail).toBeUndefined();
    expect(read({ keepTokens: 9_000 }).tail).toBe(9_000);
    expect(read({ compactAt: { fraction: 0.5 } })).toMatchObject({ compactAt: { fraction: 0.5 } });
    expect(read({}).settings.autoCompact).toBe(true);
    expect(read({ compactAt: "never" })).toMatchObject({ settings: { autoCompact: false } });
    expect(read({ compactAt: "never" })).not.toHaveProperty("compactAt");
  });

  it("is said in the words of the documents in their profile, and in no others", () => {
    expect(read({ ...DOCUMENTED, compaction: DOCUMENT_004 })).toMatchObject({
      settings: DOCUMENT_004,
      tail: "as-settings",
    });
    expect(problemsOf({ ...DOCUMENTED, keepTokens: 5, compactAt: "never" })).toEqual([
      "keepTokens is not an option; give compaction.keepRecentTokens",
      "compactAt is not an option; give compaction.reserveTokens, or compaction.autoCompact false",
    ]);
  });
});

describe("an option of document 003 or 004 without its profile", () => {
  it("is refused with the one to use, all of them at once", () => {
    expect(problemsOf({ compaction: DOCUMENT_004, overflow: { auto: false } })).toEqual([
      'compaction.maxMessages is not an option; give compactAt, or profile "documented"',
      'compaction.maxTokens is not an option; give compactAt, or profile "documented"',
      'compaction.keepRecent is not an option; give keepTokens, or profile "documented"',
      'compaction.keepRecentTokens is not an option; give keepTokens, or profile "documented"',
      'compaction.reserveTokens is not an option; give compactAt, or profile "documented"',
      'compaction.toolCallCutoff is not an option; call change({ type: "set-cutoff" }) of the session, or profile "documented"',
      'compaction.toolSummaryStrategy is not an option; call change({ type: "set-strategy" }) of the session, or profile "documented"',
      'compaction.autoCompact is not an option; give compactAt "never", or profile "documented"',
      'overflow.auto is not an option; give compactAt "never", or profile "documented"',
    ]);
    expect(problemsOf({ compaction: {}, representation: "user-summary" })).toEqual([
      'compaction is not an option; give compactAt, or profile "documented"; how much stays is keepTokens',
      'representation is not an option; leave it out: a summary is a message of its own; or profile "documented"',
    ]);
    expect(
      problemsOf({ prune: { protectTokens: 4, how: "lines" }, toolOutput: { truncateMode: "head" } }),
    ).toEqual([
      'prune.protectTokens is not an option; leave it out: old results leave by line; or profile "documented"',
      'prune.how is not an option; leave it out: old results leave by line; or profile "documented"',
      'toolOutput.truncateMode is not an option; leave it out: both ends stay; or profile "documented"',
    ]);
    expect(problemsOf({ prune: {} })).toEqual(['prune is an object; give "off"']);
  });
});

describe("an option of an earlier version", () => {
  const GONE = {
    ...{ sessionId: "s", tailTokens: 5, cache: {}, expectedTurns: 3 },
    ...{ redactOutputs: "on", recallMaxChars: 9_000, recallRedaction: "off", summaryPrices: {} },
  };

  it.each(Object.entries(GONE))("is refused in both profiles, with what to do instead: %s", (name, value) => {
    for (const profile of [{}, DOCUMENTED])
      expect(problemsOf({ ...profile, [name]: value })).toEqual([
        expect.stringMatching(new RegExp(`^${name} is not an option; (give|leave it out)`)),
      ]);
  });

  it("is not what a mistyped one is taken for", () => {
    expect(problemsOf({ tailToken: 5 })).toEqual([expect.not.stringContaining("tailTokens")]);
  });
});

describe("prices of summaries", () => {
  it("are those of the model that writes them, of the caller's rows first", () => {
    const writer = { provider: "acme", id: "small" };
    const models = [{ names: ["small"], prices: [{ input: 3, output: 15, cacheRead: 0.3 }] }];
    expect(read({ models, summarizer: { model: writer } }).summaryPrices).toEqual({
      input: 3,
      output: 15,
      cacheRead: 0.3,
      cacheWrite: 3,
    });
    expect(read({ model: writer })).not.toHaveProperty("summaryPrices");
  });
});
