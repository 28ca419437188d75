import { describe, expect, it } from "vitest";
import { agent, call, plainLines, scored, talk, user } from "../../../test/rig/fill-talk.ts";
import type { Transcript } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";
import { FILL_SHARES, FILL_WEIGHTS } from "./score.ts";

const { source, age, nameTexts, activity, activitySquared } = FILL_WEIGHTS;
/** Per logarithm of the length of a line. */
const lineChars = -0.5;
const { firstNewName, secondNewName, thirdNewName, enclosingNames, fileTouches } = FILL_WEIGHTS;
const { usedRead, lineReference } = FILL_WEIGHTS;
const LINE = "kilo lima mike";
const newerCalls = (count: number): readonly ReturnType<typeof agent>[] =>
  Array.from({ length: count }, (_, index) => agent(call("bash", {}, `x${index}`)));
/** By how much the logarithm of a line's worth differs between two conversations. */
const gain = (line: string, one: Transcript, other: Transcript): number =>
  Math.log(scored(one).worth(line) / scored(other).worth(line));
/** The same for two lines of one conversation. */
const lead = (transcript: Transcript, line: string, other: string): number =>
  Math.log(scored(transcript).worth(line) / scored(transcript).worth(other));
const active = (times: number): number => activity * times + activitySquared * times * times;

describe("scoreRows", () => {
  it.each([
    { name: "said by the agent", one: agent(LINE), other: user(LINE), weight: source.agent - source.user },
    {
      name: "read",
      one: agent(call("read", { path: "a" }, LINE)),
      other: agent(call("bash", { path: "a" }, LINE)),
      weight: source.read - source.output,
    },
    {
      name: "found by a search",
      one: agent(call("grep", { path: "a" }, LINE)),
      other: agent(call("bash", { path: "a" }, LINE)),
      weight: source.search - source.output,
    },
    {
      name: "written into a file",
      one: agent(call("edit", { path: "a", new_string: `${LINE}\nzulu` }, "")),
      other: agent(call("bash", { path: "a", new_string: `${LINE}\nzulu` }, "")),
      weight: source.change - source.input,
    },
    {
      name: "taken out of a file",
      one: agent(call("edit", { path: "a", old_string: `${LINE}\nzulu` }, "")),
      other: agent(call("edit", { path: "a", new_string: `${LINE}\nzulu` }, "")),
      weight: source.removed - source.change,
    },
  ])("counts what was $name by its source", ({ one, other, weight }) => {
    expect(gain(LINE, talk(one), talk(other))).toBeCloseTo(weight, 10);
  });

  it.each([1, 10, 40])("counts a line less after %i more results", (count) => {
    const read = agent(call("read", { path: "a" }, LINE));
    const later = gain(LINE, talk(read, ...newerCalls(count)), talk(read));
    expect(later).toBeCloseTo(age * Math.log((3 + count) / 3), 1);
  });

  it.each([1, 30, 360])("counts a line by its length, with %i more characters", (moreChars) => {
    const long = `${LINE}${"x".repeat(moreChars)}`;
    const both = talk(agent(call("bash", {}, LINE), call("bash", {}, long)), ...newerCalls(0));
    const chars = LINE.length;
    const shorter = lineChars * Math.log((1 + chars + moreChars) / (1 + chars));
    const cheaper = Math.log((chars + 6) / (chars + moreChars + 6));
    const older = age * Math.log(4 / 3);
    expect(lead(both, long, LINE)).toBeCloseTo(shorter + cheaper - older, 1);
  });

  it("counts a line of a file that several calls were about more", () => {
    const reads = (path: string): Transcript =>
      talk(
        agent(call("read", { path: "a" }, LINE)),
        agent(call("read", { path }, "papa"), call("read", { path, offset: 9 }, "")),
      );
    expect(gain(LINE, reads("a"), reads("b"))).toBeCloseTo(fileTouches * Math.log(3), 10);
  });

  it.each([
    { name: "once", said: "kilo", times: 1 / Math.sqrt(2) },
    { name: "twice", said: "kilo kilo", times: 2 / Math.sqrt(3) },
    { name: "very often, up to a bound", said: "kilo ".repeat(15), times: 4 / 4 },
    { name: "two of them", said: "kilo lima", times: 2 / Math.sqrt(2) },
    { name: "all of them often, up to a bound", said: `${LINE} `.repeat(8), times: 4 },
  ])("counts a line more whose words were written: $name", ({ said, times }) => {
    const read = agent(call("read", { path: "a" }, LINE));
    expect(gain(LINE, talk(read, user(said)), talk(read, user("papa")))).toBeCloseTo(active(times), 1);
  });

  it("counts a read less whose file was changed after it, but not by an edit that failed or came before", () => {
    const file = call("read", { path: "a" }, LINE);
    const edit = call("edit", { path: "a", old: "x" }, "done");
    const failed: ToolPart = { ...edit, outcome: { status: "failed", error: "no match" } };
    const followed = (part: ToolPart): Transcript => talk(agent(file), agent(part));
    expect(gain(LINE, followed(edit), followed(failed))).toBeCloseTo(usedRead, 10);
    expect(gain(LINE, talk(agent(edit), agent(file)), talk(agent(failed), agent(file)))).toBeCloseTo(0, 10);
  });

  it.each([
    { name: "by the file's name", said: "see engine.go:12", counts: true },
    { name: "close to it", said: "see src/engine.go:9-10", counts: true },
    { name: "after the file", said: "`src/engine.go`: the loop (lines 11-14)", counts: true },
    { name: "too far away", said: "see engine.go:16", counts: false },
    { name: "in another file", said: "engine.go calls wing.go:12", counts: false },
    { name: "without a file", said: "line 12", counts: false },
  ])("counts a line more that is named $name", ({ said, counts }) => {
    const read = (text: string): Transcript =>
      talk(user(text), agent(call("read", { path: "/home/me/src/engine.go" }, `12→${LINE}`)));
    const plain = said.replace(/\d+/g, "");
    expect(gain(LINE, read(said), read(plain))).toBeCloseTo(counts ? lineReference : 0, 10);
  });

  it.each([
    { name: "a compiler", tool: "bash", printed: "src/engine.go:12:4: undefined: kilo", counts: true },
    { name: "a compiler with brackets", tool: "bash", printed: "engine.go(12,4): error", counts: true },
    { name: "a search", tool: "grep", printed: "src/engine.go:12: papa", counts: true },
    {
      name: "a search far behind",
      tool: "grep",
      printed: `${"x ".repeat(10_000)}engine.go:12`,
      counts: false,
    },
    { name: "a file that was read", tool: "read", printed: "see engine.go:12", counts: false },
  ])("counts a line that $name names: $counts", ({ tool, printed, counts }) => {
    const read = (text: string): Transcript =>
      talk(
        agent(call("read", { path: "/home/me/src/engine.go" }, `12→${LINE}`)),
        agent(call(tool, { path: "b" }, text)),
      );
    const plain = printed.replace(/\d+/g, "");
    expect(gain(LINE, read(printed), read(plain))).toBeCloseTo(counts ? lineReference : 0, 1);
  });

  it("a range that names half a file counts where it begins, and a line without a number never", () => {
    const read = (line: string, said: string): Transcript =>
      talk(user(said), agent(call("read", { path: "engine.go" }, `${line}${LINE}`)));
    const gained = (line: string): number =>
      gain(LINE, read(line, "engine.go:1-9000"), read(line, "engine.go:-"));
    expect(gained("200→")).toBeCloseTo(lineReference, 10);
    expect(gained("300→")).toBeCloseTo(0, 10);
    expect(gained("")).toBeCloseTo(0, 10);
  });

  it.each([
    { role: "the agent", say: agent, results: 30, kept: Math.exp(-1) },
    { role: "a user", say: user, results: 30, kept: 1 },
  ])("counts what $role wrote before many results: $kept", ({ say, results, kept }) => {
    const heard = (said: string): Transcript =>
      talk(agent(call("read", { path: "a" }, LINE)), say(said), ...newerCalls(results));
    expect(gain(LINE, heard("kilo"), heard("papa"))).toBeCloseTo(active(kept / Math.sqrt(2)), 1);
  });

  it("takes what a tool showed for nothing that was written", () => {
    const read = agent(call("read", { path: "a" }, LINE));
    const shown = (tool: string, output: string): Transcript =>
      talk(read, agent(call(tool, { path: "b" }, output)));
    for (const tool of ["read", "grep", "bash"])
      expect(gain(LINE, shown(tool, "kilo"), shown(tool, "papa"))).toBeCloseTo(0, 10);
  });

  it.each([
    { names: "fooBar plain_", plain: "foobar plainx", weight: firstNewName },
    { names: "fooBar goNorth x", plain: "foobar gonorth x", weight: firstNewName + secondNewName },
    {
      names: "fooBar goNorth goSouth",
      plain: "foobar gonorth gosouth",
      weight: firstNewName + secondNewName + thirdNewName,
    },
    {
      names: "fooBar goNorth goSouth goEast",
      plain: "foobar gonorth gosouth goeast",
      weight: firstNewName + secondNewName + thirdNewName,
    },
  ])("counts $names for its names that no newer line has", ({ names, plain, weight }) => {
    const shown = (output: string): Transcript => talk(agent(call("bash", {}, output)));
    const more = Math.log(scored(shown(names)).worth(names) / scored(shown(plain)).worth(plain));
    expect(more).toBeCloseTo(weight, 10);
  });

  it("counts a name in the newest line that has it, and more the more texts have it", () => {
    const shown = (older: string, newest: string): Transcript =>
      talk(
        ...Array.from({ length: 4 }, () => agent(call("bash", {}, older))),
        agent(call("bash", {}, newest)),
      );
    const names = shown("call fooBar twice: fooBar", "fooBar here");
    const alone = shown("call foobar twice: foobar", "fooBar here");
    const bonus = Math.exp(firstNewName) - 1;
    const spread = Math.log((1 + bonus * 5 ** nameTexts) / (1 + bonus));
    expect(gain("fooBar here", names, alone)).toBeCloseTo(spread, 10);
    const older = shown("foobar there", "fooBar here");
    const known = shown("fooBar there", "fooBar here");
    expect(Math.log(scored(known).worth("fooBar there") / scored(older).worth("foobar there"))).toBeCloseTo(
      0,
      10,
    );
  });

  it("counts a name that stands in very many texts by the same rule", () => {
    const shown = (older: string): Transcript =>
      talk(
        ...Array.from({ length: 99 }, () => agent(call("bash", {}, older))),
        agent(call("bash", {}, "fooBar")),
      );
    const bonus = Math.exp(firstNewName) - 1;
    const spread = Math.log((1 + bonus * 100 ** nameTexts) / (1 + bonus));
    expect(gain("fooBar", shown("see fooBar"), shown("see foobar"))).toBeCloseTo(spread, 10);
  });

  const bonus = Math.exp(firstNewName) - 1;

  it.each([
    { name: "above", output: `${LINE}\nnow go on to fooBar1` },
    { name: "below", output: `now go on to fooBar1\n${LINE}` },
    { name: "on both sides, counted once", output: `now go on to fooBar1\n${LINE}\nnow go on to fooBar2` },
  ])("lets a line share in the worth of a name beside it: $name", ({ output }) => {
    const shown = (text: string): Transcript => talk(agent(call("bash", {}, text)));
    const length = "now go on to fooBar1".length + 6;
    const cost = Math.max(length, LINE.length + 6);
    const own = Math.exp(lineChars * Math.log(1 + LINE.length)) / (LINE.length + 6);
    const its = Math.exp(lineChars * Math.log(1 + "now go on to fooBar1".length));
    const shared = (FILL_SHARES.neighbour * its * bonus) / cost;
    expect(gain(LINE, shown(output), shown(output.toLowerCase()))).toBeCloseTo(
      Math.log((own + shared) / own),
      10,
    );
  });

  it("never ranks a short line above the long line with a name that it stands beside", () => {
    const long = `return computeFold(${"the wing and ".repeat(12)})`;
    const { worth } = scored(talk(agent(call("read", { path: "a" }, `}\n${long}\nend\n${LINE}`))));
    expect(worth("}")).toBeLessThan(worth(long));
    expect(worth("end")).toBeGreaterThan(worth(LINE));
    expect(worth("}")).toBeGreaterThan(worth(LINE) / 1e3);
  });

  it("shares no worth between one text and the next", () => {
    const shown = (name: string): Transcript =>
      talk(agent(call("bash", { command: name }, LINE)), agent(call("bash", { command: name }, "papa")));
    const { worth, row, scores } = scored(shown("fooBar"));
    const plain = scored(shown("foobar"));
    expect(worth(LINE)).toBeCloseTo(plain.worth(LINE), 10);
    expect(worth("papa")).toBeCloseTo(plain.worth("papa"), 10);
    expect(scores.density[row("papa") - 1]).toBeGreaterThan(plain.scores.density[row("papa") - 1] ?? 0);
  });

  it("puts a line that is shown again, and one without words, behind everything else", () => {
    const again = talk(agent(call("read", { path: "a" }, LINE)), agent(call("bash", {}, `${LINE}\npapa`)));
    const once = talk(agent(call("read", { path: "a" }, LINE)), agent(call("bash", {}, "mike lima\npapa")));
    expect(gain(LINE, again, once)).toBeCloseTo(Math.log(1e-4), 10);
    const shown = (line: string): Transcript => talk(agent(call("bash", {}, line)));
    const empty = Math.log(
      scored(shown("-- 42 --")).worth("-- 42 --") / scored(shown("-- word")).worth("-- word"),
    );
    expect(empty).toBeLessThan(Math.log(2e-4));
  });

  it("prefers the newest of equal lines by a little", () => {
    const { scores, row } = scored(talk(agent(call("bash", {}, plainLines("papa", 9)))));
    const rows = scores.density.subarray(row("papa 0"), row("papa 8") + 1);
    for (let at = 1; at < rows.length; at++) {
      expect(rows[at]).toBeGreaterThan(rows[at - 1] ?? 0);
      expect(rows[at]).toBeLessThan(1.01 * (rows[0] ?? 0));
    }
  });

  it.each([
    { said: "change foldWing", names: 0.5 },
    { said: "foldWing is foldWing, and foldWing", names: 1 },
  ])("raises what stands under a line that was named: $said", ({ said, names }) => {
    const output = `func foldWing() {\n\tpapa\n\tpapa ${LINE}\n}\nother thing`;
    const heard = (text: string): Transcript => talk(agent(call("read", { path: "a" }, output)), user(text));
    const more = gain(`papa ${LINE}`, heard(said), heard(said.replaceAll("foldWing", "foldWong")));
    expect(more).toBeCloseTo(enclosingNames * names, 1);
    expect(gain("other thing", heard(said), heard("nothing"))).toBeCloseTo(0, 1);
  });

  it("says which lines a newer one repeats", () => {
    const { scores, row } = scored(
      talk(agent(call("read", { path: "a" }, `${LINE}\npapa`)), agent(call("bash", {}, `${LINE}\nzulu`))),
    );
    expect(scores.isRepeated[row(LINE)]).toBe(1);
    expect([...scores.isRepeated].reduce((sum, repeated) => sum + repeated, 0)).toBe(1);
  });
});
