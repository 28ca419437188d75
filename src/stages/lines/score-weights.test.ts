import { describe, expect, it } from "vitest";
import { agent, call, plainLines, scored, talk, user } from "../../../test/rig/fill-talk.ts";
import { FILL_WEIGHTS } from "./score.ts";

const LINE = "kilo lima mike";
const read = (line: string, path = "a"): ReturnType<typeof agent> => agent(call("read", { path }, line));
const printed = (line: string): ReturnType<typeof agent> => agent(call("bash", {}, line));

describe("FILL_WEIGHTS", () => {
  it.each([
    { name: "newer lines", better: talk(printed("x"), read(LINE)), worse: talk(read(LINE), printed("x")) },
    { name: "files to what programs print", better: talk(read(LINE)), worse: talk(printed(LINE)) },
    {
      name: "what programs print to what searches find",
      better: talk(printed(LINE)),
      worse: talk(agent(call("grep", {}, LINE))),
    },
    {
      name: "what was written into a file to what was taken out",
      better: talk(agent(call("edit", { path: "a", new_string: `${LINE}\nzulu` }, ""))),
      worse: talk(agent(call("edit", { path: "a", old_string: `${LINE}\nzulu` }, ""))),
    },
    {
      name: "what was written into a file to what a program was given",
      better: talk(agent(call("edit", { path: "a", new_string: `${LINE}\nzulu` }, ""))),
      worse: talk(agent(call("bash", { command: `${LINE}\nzulu` }, ""))),
    },
    { name: "what the agent says to what users say", better: talk(agent(LINE)), worse: talk(user(LINE)) },
    {
      name: "short texts",
      better: talk(read(LINE)),
      worse: talk(read(`${LINE}\n${plainLines("papa", 40)}`)),
    },
    {
      name: "files that several calls are about",
      better: talk(read(LINE), read("papa")),
      worse: talk(read(LINE), read("papa", "b")),
    },
    {
      name: "lines with words that were written lately",
      better: talk(read(LINE), user("kilo")),
      worse: talk(read(LINE), user("papa")),
    },
    {
      name: "lines under a line that was named lately",
      better: talk(read(`def foldWing():\n  papa\n  ${LINE}`), user("foldWing")),
      worse: talk(read(`def foldWing():\n  papa\n  ${LINE}`), user("nothing")),
    },
  ])("prefer $name", ({ better, worse }) => {
    expect(scored(better).worth(LINE)).toBeGreaterThan(scored(worse).worth(LINE));
  });

  it("prefer lines with names found nowhere newer, each further name adding less", () => {
    const worths = [
      "foobar gonorth gosouth",
      "fooBar gonorth gosouth",
      "fooBar goNorth gosouth",
      "fooBar goNorth goSouth",
    ].map((line) => Math.log(scored(talk(printed(line))).worth(line)));
    const [first = 0, second = 0, third = 0] = worths
      .slice(1)
      .map((worth, index) => worth - (worths[index] ?? 0));
    expect(first).toBeGreaterThan(second);
    expect(second).toBeGreaterThan(third);
    expect(third).toBeGreaterThan(0);
  });

  it("prefer names that stand in many texts", () => {
    const worthAfter = (older: string): number =>
      scored(talk(printed(older), printed("see fooBar"))).worth("see fooBar");
    expect(worthAfter("fooBar is there")).toBeGreaterThan(worthAfter("foobar is there"));
  });

  it("prefer short lines to long ones by more than what they take", () => {
    const [short, long] = ["kilo lima", "kilo lima mike november"].map(
      (line) => scored(talk(printed(line))).worth(line) * (line.length + 6),
    );
    expect(short).toBeGreaterThan(long ?? 0);
  });

  it("count words that were written more often as more, less for each further time", () => {
    const worthAfter = (times: number): number =>
      scored(talk(read(`${LINE} papa golf`), user(`${LINE} papa golf `.repeat(times)))).worth(
        `${LINE} papa golf`,
      );
    expect(worthAfter(2)).toBeGreaterThan(worthAfter(1));
    expect(FILL_WEIGHTS.activitySquared).toBeLessThan(0);
  });

  it("prefer the newest work, a long text of it less", () => {
    expect(FILL_WEIGHTS.recent).toBeGreaterThan(FILL_WEIGHTS.recentLong);
    expect(FILL_WEIGHTS.recentLong).toBeGreaterThan(0);
  });
});
