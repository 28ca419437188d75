import { describe, expect, it } from "vitest";
import { anthropic } from "../src/formats/wires/anthropic/anthropic.ts";
import { redactTranscript } from "../src/stages/redact.ts";
import { repairPairing } from "../src/stages/repair.ts";
import { graduatedTiers } from "../src/stages/tiers.ts";
import { runStages } from "../src/transcript/edit.ts";
import { findAnthropicEditFaults } from "./rig/edit-faults.ts";
import {
  dropImages,
  expectNoRegression,
  fold,
  foldForUser,
  hide,
  hidePart,
  notice,
  pruneAll,
  type Regression,
} from "./rig/provider-regression.ts";

type Block = Readonly<Record<string, unknown>>;
const user = (...content: readonly Block[]) => ({ role: "user", content });
const assistant = (...content: readonly Block[]) => ({ role: "assistant", content });
const text = (words: string, more: Block = {}): Block => ({ type: "text", text: words, ...more });
const use = (id: string, input: unknown = { command: "ls" }): Block => ({
  type: "tool_use",
  id,
  name: "bash",
  input,
});
const result = (id: string, content: unknown = "ok"): Block => ({
  type: "tool_result",
  tool_use_id: id,
  content,
});
const thinking = (words: string, signature = "sig-1"): Block => ({
  type: "thinking",
  thinking: words,
  signature,
});
const mark: Block = { cache_control: { type: "ephemeral" } };
const image = (data: string): Block => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
});
const long = "a long answer about the build ".repeat(400);
const story = [user(text("build it")), assistant(text(long), use("t1")), user(result("t1", long))];
const tiers = graduatedTiers({
  limits: {
    tier1Count: 0,
    tier2Count: 0,
    resultChars: { 1: 50, 2: 50, 3: 50 },
    paramsChars: { 1: 50, 2: 50, 3: 50 },
  },
});

const regressions: readonly Regression[] = [
  {
    name: "openclaw#8525: compaction sums up the call and keeps its result",
    rule: "common-01",
    wire: [...story, assistant(use("t2")), user(result("t2")), assistant(use("t3")), user(result("t3"))],
    broken: [user(text("Summary: built.")), assistant(text("noted")), user(result("t2"))],
    stages: [fold],
  },
  {
    name: "openclaw#3243: the kept part begins with a result",
    rule: "common-05",
    wire: [...story, assistant(use("t2")), user(result("t2"), text("go on"))],
    broken: [user(result("t2"), text("go on"))],
    stages: [foldForUser],
  },
  {
    name: "openclaw#16095: the made-up result of an interrupted call outlives the call",
    rule: "common-01",
    wire: [
      ...story,
      assistant(text("writing"), use("t2")),
      user(text("stop")),
      assistant(text("ok")),
      user(text("go")),
    ],
    broken: [user(text("Summary.")), assistant(text("ok")), user(result("t2", "[interrupted]"), text("go"))],
    stages: [fold],
  },
  {
    name: "openclaw#28377: hiding the turn of a call hides its result too",
    rule: "common-01",
    wire: [
      user(text("a")),
      assistant(use("t1")),
      user(result("t1")),
      assistant(text("done")),
      user(text("b")),
    ],
    broken: [user(text("a")), user(result("t1")), assistant(text("done")), user(text("b"))],
    stages: [hide(1)],
    expectSent: (sent) => expect(sent).not.toContain("t1"),
  },
  {
    name: "letta#2605: dropping old messages drops a call and keeps its result",
    rule: "common-01",
    wire: [
      user(text("a")),
      assistant(use("t1"), use("t2")),
      user(result("t1"), result("t2")),
      assistant(text("x")),
      user(text("b")),
    ],
    broken: [
      user(text("a")),
      assistant(use("t2")),
      user(result("t1"), result("t2")),
      assistant(text("x")),
      user(text("b")),
    ],
    stages: [hidePart(1, 0)],
    expectSent: (sent) => expect(sent).not.toContain("t1"),
  },
  {
    name: "claude-code#45286: a line of the log is lost, and a call has no result",
    rule: "common-06",
    wire: [user(text("a")), assistant(use("t1")), user(text("are you there?"))],
    broken: [user(text("a")), assistant(use("t1")), user(text("are you there?"))],
    expectSent: (sent) => expect(sent).toContain("[Tool result not available]"),
  },
  {
    name: "paperclip#2358: the process was killed and the log ends with a call",
    rule: "common-06",
    wire: [user(text("a")), assistant(text("running"), use("t1"), use("t2"))],
    broken: [user(text("a")), assistant(text("running"), use("t1"), use("t2"))],
  },
  {
    name: "pi#8667: a summary is shown between a call and its result",
    rule: "common-03",
    wire: [...story, assistant(use("t2")), user(result("t2")), assistant(text("done")), user(text("next"))],
    broken: [...story, assistant(use("t2")), user(text("Summary: built.")), user(result("t2"))],
    stages: [notice(2, "Summary: built.")],
    expectSent: (_, after) =>
      expect((after as Block[])[4]).toEqual(user(result("t2"), text("Summary: built."))),
  },
  {
    name: "maki#641: a notice stands in front of the results",
    rule: "anthropic-19",
    wire: [user(text("a")), assistant(use("t1"), use("t2")), user(result("t1"), result("t2"))],
    broken: [
      user(text("a")),
      assistant(use("t1"), use("t2")),
      user(text("[notice]"), result("t1"), result("t2")),
    ],
    stages: [notice(1)],
  },
  {
    name: "maki#641: results came in after the user had spoken",
    rule: "anthropic-19",
    wire: [user(text("a")), assistant(use("t1")), user(text("hurry"), result("t1", "late"))],
    broken: [user(text("a")), assistant(use("t1")), user(text("hurry"), result("t1", "late"))],
    expectSent: (sent) => expect(sent.indexOf("late")).toBeLessThan(sent.indexOf("hurry")),
  },
  {
    name: "pi transform-messages: ids of another vendor are too long and have signs in them",
    rule: "anthropic-20",
    wire: [
      user(text("a")),
      assistant(use(`call_1|fc_${"0".repeat(450)}`)),
      user(result(`call_1|fc_${"0".repeat(450)}`)),
    ],
    broken: [
      user(text("a")),
      assistant(use(`call_1|fc_${"0".repeat(450)}`)),
      user(result(`call_1|fc_${"0".repeat(450)}`)),
    ],
  },
  {
    name: "opencode transform.ts: two ids become one when their signs are replaced",
    rule: "common-04",
    wire: [
      user(text("a")),
      assistant(use("t.1"), use("t:1")),
      user(result("t.1", "dot"), result("t:1", "colon")),
    ],
    broken: [
      user(text("a")),
      assistant(use("t_1"), use("t_1")),
      user(result("t_1", "dot"), result("t_1", "colon")),
    ],
    expectSent: (sent) => expect(sent).toMatch(/dot.*colon/),
  },
  {
    name: "inspect_ai#3967: the mark of a hidden text moves to the thinking before it",
    rule: "anthropic-23",
    wire: [user(text("a")), assistant(thinking("hm"), text("on it", mark), use("t1")), user(result("t1"))],
    broken: [user(text("a")), assistant({ ...thinking("hm"), ...mark }, use("t1")), user(result("t1"))],
    stages: [hidePart(1, 1)],
  },
  {
    name: "openclaw#27768: thinking carries a cache mark",
    rule: "anthropic-23",
    wire: [user(text("a")), assistant({ ...thinking("hm"), ...mark }, use("t1")), user(result("t1"))],
    broken: [user(text("a")), assistant({ ...thinking("hm"), ...mark }, use("t1")), user(result("t1"))],
    expectSent: (sent) => expect(sent).toContain('"signature":"sig-1"'),
  },
  {
    name: "claude-code#50082: an empty text carries a cache mark",
    rule: "anthropic-23",
    wire: [user(text("a"), text("", mark))],
    broken: [user(text("a"), text("", mark))],
  },
  {
    name: "claude-code#55302: blanks beside an image",
    rule: "common-10",
    wire: [user(image("AAAA"), text(" \n"))],
    broken: [user(image("AAAA"), text(" \n"))],
  },
  {
    name: "continue#6937: five cache marks",
    rule: "anthropic-23",
    wire: {
      system: [text("s", mark)],
      messages: [user(text("a", mark), text("b", mark), text("c", mark), text("d", mark))],
    },
    broken: {
      system: [text("s", mark)],
      messages: [user(text("a", mark), text("b", mark), text("c", mark), text("d", mark))],
    },
  },
  {
    name: "vellum#23506: a mark on the tools makes one too many",
    rule: "anthropic-23",
    wire: {
      tools: [{ name: "bash", ...mark }],
      system: [text("s", mark)],
      messages: [user(text("a", mark)), assistant(text("b", mark)), user(text("c", mark))],
    },
    broken: {
      tools: [{ name: "bash", ...mark }],
      system: [text("s", mark)],
      messages: [user(text("a", mark)), assistant(text("b", mark)), user(text("c", mark))],
    },
  },
  {
    name: "dev.to ji_ai: thinking of the open tool loop is cleared to save room",
    rule: "anthropic-22",
    wire: {
      thinking: { type: "enabled", budget_tokens: 2_000 },
      messages: [user(text("a")), assistant(thinking("hm"), use("t1")), user(result("t1"))],
    },
    broken: {
      thinking: { type: "enabled", budget_tokens: 2_000 },
      messages: [user(text("a")), assistant(use("t1")), user(result("t1"))],
    },
    stages: [hidePart(1, 0)],
    expectSent: (sent) => expect(sent).toContain("sig-1"),
  },
  {
    name: "goose#12164: compaction puts a word of the model behind the summary, and no question after it",
    rule: "common-08",
    wire: [...story, assistant(text("done"))],
    broken: [user(text("Summary.")), assistant(text("My context was compacted; I go on."))],
    stages: [fold],
  },
  {
    name: "holmesgpt#2173: the last question is filtered out",
    rule: "anthropic-26",
    wire: [user(text("a")), assistant(text("b")), user(text(" "))],
    broken: [user(text("a")), assistant(text("b"))],
  },
  {
    name: "pulse-agent#354: after filtering there are only answers",
    rule: "common-09",
    wire: [user(text("a")), assistant(text("b")), user(text("c")), assistant(text("d"))],
    broken: [assistant(text("b")), assistant(text("d"))],
    stages: [hide(0, 2)],
  },
  {
    name: "vercel/eve#80: everything is filtered out",
    rule: "common-08",
    wire: [user(text("a"))],
    broken: [],
    stages: [hide(0)],
  },
  {
    name: "clawbolt#699: the model is given the beginning of its answer",
    rule: "anthropic-26",
    wire: [user(text("a")), assistant(text("{"))],
    broken: [user(text("a")), assistant(text("{"))],
  },
  {
    name: "TeXRA#2531: hiding an answer leaves two questions in a row",
    rule: "anthropic-27",
    wire: [user(text("a")), assistant(text("b")), user(text("c"))],
    broken: [user(text("a")), user(text("c"))],
    stages: [hide(1)],
  },
  {
    name: "claude-code#56064: half a surrogate pair in a result",
    rule: "common-11",
    wire: [user(text("a")), assistant(use("t1")), user(result("t1", "cut \ud83d"))],
    broken: [user(text("a")), assistant(use("t1")), user(result("t1", "cut \ud83d"))],
  },
  {
    name: "claude-code#68325: half a surrogate pair deep in a tool input",
    rule: "common-11",
    wire: [user(text("a")), assistant(use("t1", { edits: [{ to: "\udc00" }] })), user(result("t1"))],
    broken: [user(text("a")), assistant(use("t1", { edits: [{ to: "\udc00" }] })), user(result("t1"))],
  },
  {
    name: "openclaw#18105: truncation cuts an emoji in two",
    rule: "common-11",
    wire: [user(text("a")), assistant(use("t1")), user(result("t1", "😀".repeat(200)))],
    broken: [user(text("a")), assistant(use("t1")), user(result("t1", "😀".repeat(200).slice(0, 51)))],
    stages: [tiers],
  },
  {
    name: "claude-code#94055: NUL bytes in a result",
    rule: "common-12",
    wire: [user(text("a")), assistant(use("t1")), user(result("t1", [text("ELF\0\0\x01")]))],
    broken: [user(text("a")), assistant(use("t1")), user(result("t1", [text("ELF\0\0\x01")]))],
  },
  {
    name: "local-operator#596: 42 images make 34 MB at a sixth of the window",
    rule: "anthropic-25",
    wire: [user(...Array<Block>(42).fill(image("A".repeat(850_000))), text("what do they show?"))],
    broken: [user(...Array<Block>(42).fill(image("A".repeat(850_000))), text("what do they show?"))],
    stages: [dropImages],
  },
  {
    name: "claude-code#10360: one image is too large",
    rule: "anthropic-25",
    wire: [user(text("a")), assistant(use("t1")), user(result("t1", [image("A".repeat(6 * 2 ** 20))]))],
    broken: [user(text("a")), assistant(use("t1")), user(result("t1", [image("A".repeat(6 * 2 ** 20))]))],
    stages: [dropImages],
  },
];

describe("breakages that were reported for Anthropic", () => {
  it.each(regressions.map((regression) => [regression.name, regression] as const))("%s", (_, regression) => {
    expectNoRegression(anthropic, regression);
  });

  const at = 1;
  it("openclaw#44436: redaction leaves thinking alone, even with a secret in it", () => {
    const secret = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
    const wire = [user(text(secret)), assistant(thinking(secret), use("t1")), user(result("t1", secret))];
    const { edits } = runStages(anthropic.decode(wire), [redactTranscript()], { at });
    const after = anthropic.apply(wire, edits, { at });
    expect(findAnthropicEditFaults(wire, after)).toEqual([]);
    expect(JSON.stringify(after).split(secret)).toHaveLength(2);
    expect(
      findAnthropicEditFaults(wire, JSON.parse(JSON.stringify(wire).replaceAll(secret, "[x]"))),
    ).toMatchObject([{ rule: "anthropic-21" }]);
  });

  it("claude-code#63309: repair cleans texts and leaves thinking with escape sequences alone", () => {
    const wire = [
      user(text("a\0")),
      assistant(thinking("\x1b[31mred"), use("t1")),
      user(result("t1", "\x1b[31mred")),
    ];
    const after = anthropic.apply(wire, repairPairing(anthropic.decode(wire)), { at });
    expect(findAnthropicEditFaults(wire, after)).toEqual([]);
    expect(JSON.stringify(after)).not.toContain("\\u0000");
  });

  it("gptme#2727: pruning leaves every message before the first cleared one as it was", () => {
    const wire = [
      ...story,
      assistant(use("t2")),
      user(result("t2", long)),
      assistant(text("done")),
      user(text("next")),
    ];
    const { edits } = runStages(anthropic.decode(wire), [pruneAll], { at });
    const after = anthropic.apply(wire, edits, { at });
    const first = after.findIndex((message, index) => message !== wire[index]);
    expect(first).toBe(2);
    expect(findAnthropicEditFaults(wire, after, { unchangedMessages: first })).toEqual([]);
  });

  it("opencrabs#1649: folding again and again does not grow", () => {
    let wire: readonly ReturnType<typeof user>[] = [...story, assistant(text("done")), user(text("next"))];
    const sizes: number[] = [];
    for (let round = 0; round < 5; round++) {
      const { edits } = runStages(anthropic.decode(wire), [fold], { at });
      wire = anthropic.apply(wire, edits, { at }) as typeof wire;
      sizes.push(JSON.stringify(wire).length);
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2 * (sizes[0] ?? 0));
  });
});
