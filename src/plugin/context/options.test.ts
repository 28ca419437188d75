import { describe, expect, it } from "vitest";
import { readPluginOptions } from "./options.ts";

describe("the options of the plugin", () => {
  it("have the documented defaults", () => {
    expect(readPluginOptions(undefined)).toEqual({
      problems: [],
      options: {
        profile: "default",
        fork: {
          profile: "default",
          inherit: "auto",
          maxRunning: 4,
          timeoutMin: 20,
          maxToolCalls: 200,
          forkUSD: 2,
          onForkError: "continue",
          askTimeoutS: 300,
          allowCrossProvider: false,
        },
        toolOutput: {},
        prune: "when-full",
        compaction: "host",
        pin: [],
        models: {},
        redact: [],
        log: "info",
      },
    });
  });

  it("report every problem at once, and then none of them counts", () => {
    const { options, problems } = readPluginOptions({
      fork: { maxRunning: 0, nope: 1, timeoutMin: "x" },
      prune: "on",
      compaction: "host-with-facts",
      bogus: 1,
      pin: ["a", 3],
      toolOutput: { maxLines: -4 },
      models: { x: {}, "a/b": { pruneAt: "80%", keepTokens: "high" } },
    });
    expect(problems.map((problem) => problem.slice(0, problem.indexOf(" ")))).toEqual(
      expect.arrayContaining([
        "fork.maxRunning",
        "fork.nope",
        "fork.timeoutMin",
        "prune",
        "bogus",
        "pin.1",
        "toolOutput.maxLines",
        "models.x",
        "models.a/b.keepTokens",
      ]),
    );
    expect(problems).toHaveLength(9);
    expect(options).toEqual(readPluginOptions({}).options);
  });

  it("have a profile for forks alone, which is the plugin's where it is unset", () => {
    const profiles = (given: object): readonly string[] => {
      const { options } = readPluginOptions(given);
      return [options.profile, options.fork.profile];
    };
    expect(profiles({ fork: { profile: "documented" } })).toEqual(["default", "documented"]);
    expect(profiles({ profile: "documented" })).toEqual(["documented", "documented"]);
    expect(profiles({ profile: "documented", fork: { profile: "default" } })).toEqual([
      "documented",
      "default",
    ]);
  });

  it.each([
    { profile: "documented", fork: { inherit: "full" } },
    { fork: { profile: "documented", inherit: "trimmed" } },
  ])("refuse a way that a documented fork cannot take: %j", (given) => {
    const { options, problems } = readPluginOptions(given);
    expect(problems).toEqual([`fork.inherit is "${given.fork.inherit}"; give "auto" or "text"`]);
    expect(options.fork.inherit).toBe("auto");
  });

  it("refuse what was one once, each with what to do instead, all at once", () => {
    const forks = { maxQueued: 1, maxPerRoot: 1, graceS: 1, repeatLimit: 9, rootUSD: 1 };
    const { problems } = readPluginOptions({
      fork: { ...forks, onParentAbort: "cancel", onRestart: "resume" },
      toolOutput: { truncateMode: "head", largeOutputThreshold: 5 },
      models: { "a/b": { keepRecent: 5, inheritAtMost: "10%" } },
      recallRedaction: "on",
    });
    expect(problems).toHaveLength(12);
    for (const problem of problems) expect(problem).toMatch(/ is not an option; (give|leave it out)/);
  });

  it("refuse what was renamed with the new name", () => {
    const { problems } = readPluginOptions({ compaction: "own-model", fork: { way: "exact" } });
    expect(problems).toEqual([
      'compaction is "own-model", which is now called "model"',
      'fork.way is not an option; give inherit: "full" in place of exact, "trimmed" of graduated, or "text"',
    ]);
  });

  it.each([
    ["~/fleet", true],
    ["C:\\work", true],
    ["postgres://agent:hidd3n@host/db", true],
    ["postgresql://host/db", true],
    ["mysql://agent:hidd3n@host/db", false],
    ["https://host/db", false],
  ])("take %s as a store: %j", (store, isTaken) => {
    const { options, problems } = readPluginOptions({ store });
    expect(options.store === store).toBe(isTaken);
    expect(problems).toHaveLength(isTaken ? 0 : 1);
    expect(problems.join()).not.toContain("hidd3n");
  });

  it.each([[7], ["text"], [null], [[]]])("of a wrong kind altogether (%j) are the defaults", (raw) => {
    expect(readPluginOptions(raw).options).toEqual(readPluginOptions({}).options);
  });
});
