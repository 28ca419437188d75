import { describe, expect, it } from "vitest";
import { LIMITS_SHAPE, OVERFLOW_SHAPE } from "../compaction/trigger/overflow.ts";
import { COMPACTION_SHAPE } from "../compaction/trigger/should-compact.ts";
import { TOOL_OUTPUT_LIMIT_SHAPE } from "../tool-output/limits.ts";
import { readSessionOptions, SESSION_SHAPE, type SessionOptions } from "./options.ts";

const read = (options: object) => readSessionOptions(options as SessionOptions);

describe("an option that is undefined", () => {
  it.each(Object.keys(SESSION_SHAPE))("is one that is not given: %s", (name) => {
    expect(read({ [name]: undefined })).toStrictEqual(read({}));
  });

  it.each([
    ...Object.keys(LIMITS_SHAPE).map((name) => ["limits", name]),
    ...Object.keys(COMPACTION_SHAPE).map((name) => ["compaction", name]),
    ...Object.keys(OVERFLOW_SHAPE).map((name) => ["overflow", name]),
    ...Object.keys(TOOL_OUTPUT_LIMIT_SHAPE).map((name) => ["toolOutput", name]),
    ...["how", "highTokens", "lowTokens", "protectResults", "protectTokens", "protectedTools"].map((name) => [
      "prune",
      name,
    ]),
  ])("is one that is not given: %s.%s", (group = "", name = "") => {
    expect(read({ [group]: { [name]: undefined } })).toStrictEqual(read({ [group]: {} }));
  });

  it("does not bring back the tokens that a number of messages replaces", () => {
    const { settings } = read({ compaction: { keepRecent: 3, keepRecentTokens: undefined } });
    expect(settings).toMatchObject({ keepRecent: 3, keepRecentTokens: 0 });
  });
});
