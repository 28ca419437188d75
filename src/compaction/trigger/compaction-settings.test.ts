import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { check, readOptions } from "../../text/check.ts";
import {
  COMPACTION_SHAPE,
  changeSettings,
  completeCompactionSettings,
  DEFAULT_COMPACTION_SETTINGS as defaults,
  type SettingsChange,
} from "./compaction-settings.ts";

const paths = (raw: unknown) => check(COMPACTION_SHAPE, raw).map(({ path }) => path.join("."));
const read = (raw: unknown) => readOptions(COMPACTION_SHAPE, raw);

describe("the defaults", () => {
  it("are the documented ones", () => {
    expect(defaults).toEqual({
      maxMessages: 50,
      maxTokens: 8_000,
      keepRecent: 5,
      keepRecentTokens: 20_000,
      reserveTokens: 16_384,
      toolCallCutoff: 10,
      toolSummaryStrategy: "llm",
      toolSummaryMode: "sync",
      autoCompact: true,
      thresholds: {},
    });
  });
});

describe("compaction settings", () => {
  it("completes what is given with the defaults", () => {
    expect(read(undefined)).toEqual(defaults);
    expect(read({ reserveTokens: undefined, toolCallCutoff: 0 })).toEqual({ ...defaults, toolCallCutoff: 0 });
  });

  it("lists every problem at once, unknown keys included", () => {
    const raw = {
      maxMessages: -1,
      maxTokens: 1.5,
      reserveTokens: "many",
      autoCompact: "yes",
      toolSummaryStrategy: "magic",
      keepRecnt: 4,
    };
    expect(paths(raw)).toEqual(Object.keys(raw));
  });

  it.each<{ name: string; raw: unknown; path: string }>([
    { name: "a negative reserve", raw: { reserveTokens: -1 }, path: "reserveTokens" },
    { name: "an unknown strategy", raw: { toolSummaryStrategy: "LLM" }, path: "toolSummaryStrategy" },
    { name: "a number that is none", raw: { maxTokens: Number.NaN }, path: "maxTokens" },
    {
      name: "an infinite number",
      raw: { keepRecentTokens: Number.POSITIVE_INFINITY },
      path: "keepRecentTokens",
    },
    { name: "null", raw: { maxTokens: null }, path: "maxTokens" },
    {
      name: "a threshold without a provider",
      raw: { thresholds: { large: { tokens: 5 } } },
      path: "thresholds.large",
    },
    { name: "a threshold of nothing", raw: { thresholds: { "a/b": { tokens: 0 } } }, path: "thresholds.a/b" },
    {
      name: "a percentage above 100",
      raw: { thresholds: { "a/b": { percent: 101 } } },
      path: "thresholds.a/b",
    },
    {
      name: "a threshold in two units",
      raw: { thresholds: { "a/b": { percent: 50, tokens: 5 } } },
      path: "thresholds.a/b",
    },
    { name: "thresholds that are a list", raw: { thresholds: [] }, path: "thresholds" },
    { name: "a name every object has", raw: { constructor: 1 }, path: "constructor" },
    { name: "settings that are a list", raw: [], path: "" },
    { name: "settings that are null", raw: null, path: "" },
  ])("rejects $name", ({ raw, path }) => {
    expect(paths(raw)).toEqual([path]);
  });

  it("accepts a reserve of 0 and thresholds in both units", () => {
    const raw = {
      reserveTokens: 0,
      thresholds: { "acme/large": { percent: 80.5 }, "acme/x/y": { tokens: 9 } },
    };
    expect(read(raw)).toEqual({ ...defaults, ...raw });
  });

  it("takes an empty strategy for the documented one", () => {
    expect(
      completeCompactionSettings({ toolSummaryStrategy: "" }, { ...defaults, toolSummaryStrategy: "off" }),
    ).toEqual(defaults);
    expect(
      changeSettings(
        { ...defaults, toolSummaryStrategy: "off" },
        { type: "set-strategy", toolSummaryStrategy: "" },
      ),
    ).toEqual({ status: "changed", settings: defaults });
  });

  it("never throws, and what it finds right is right again when completed", () => {
    fc.assert(
      fc.property(fc.anything(), (raw) => {
        if (paths(raw).length === 0) expect(paths(read(raw))).toEqual([]);
      }),
    );
  });
});

describe("changeSettings", () => {
  it.each<{ change: SettingsChange; settings: object }>([
    { change: { type: "set-auto", autoCompact: false }, settings: { autoCompact: false } },
    { change: { type: "set-cutoff", toolCallCutoff: 0 }, settings: { toolCallCutoff: 0 } },
    {
      change: { type: "set-strategy", toolSummaryStrategy: "heuristic" },
      settings: { toolSummaryStrategy: "heuristic" },
    },
  ])("$change.type changes that setting alone", ({ change, settings }) => {
    expect(changeSettings(deepFreeze({ ...defaults }), change)).toEqual({
      status: "changed",
      settings: { ...defaults, ...settings },
    });
  });

  it.each<{ name: string; change: unknown; path: string }>([
    { name: "a negative cutoff", change: { type: "set-cutoff", toolCallCutoff: -1 }, path: "toolCallCutoff" },
    { name: "half a cutoff", change: { type: "set-cutoff", toolCallCutoff: 2.5 }, path: "toolCallCutoff" },
    {
      name: "an unknown strategy",
      change: { type: "set-strategy", toolSummaryStrategy: "magic" },
      path: "toolSummaryStrategy",
    },
    { name: "auto that is no boolean", change: { type: "set-auto", autoCompact: 1 }, path: "autoCompact" },
    { name: "an unknown change", change: { type: "set-colour" }, path: "set-colour" },
  ])("rejects $name and says why", ({ change, path }) => {
    expect(changeSettings(defaults, change as SettingsChange)).toMatchObject({
      status: "rejected",
      problem: expect.stringContaining(path),
    });
  });
});
