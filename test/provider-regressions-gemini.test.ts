import { describe, expect, it } from "vitest";
import { findGeminiFaults } from "../src/formats/wires/gemini/find-faults.ts";
import { gemini } from "../src/formats/wires/gemini/gemini.ts";
import { graduatedTiers } from "../src/stages/tiers.ts";
import { runStages } from "../src/transcript/edit.ts";
import { findGeminiEditFaults } from "./rig/edit-faults.ts";
import {
  dropImages,
  expectNoRegression,
  fold,
  foldForUser,
  hide,
  hidePart,
  pruneAll,
  type Regression,
} from "./rig/provider-regression.ts";

const at = 1;
const user = (...parts: readonly object[]) => ({ role: "user", parts });
const model = (...parts: readonly object[]) => ({ role: "model", parts });
const text = (words: string) => ({ text: words });
const call = (name: string, more: object = {}) => ({
  functionCall: { name, args: { path: "a.ts" } },
  ...more,
});
const response = (name: string, output = "ok", more: object = {}) => ({
  functionResponse: { name, response: { output }, ...more },
});
const signed = (seal: string) => ({ thoughtSignature: seal });
const long = "a long answer about the build ".repeat(400);
const story = [user(text("build it")), model(text(long)), user(text("and test it"))];

const regressions: readonly Regression[] = [
  {
    name: "gemini-cli#3709: one of two calls was cancelled",
    rule: "gemini-40",
    wire: [user(text("a")), model(call("read"), call("bash")), user(response("read"))],
    broken: [user(text("a")), model(call("read"), call("bash")), user(response("read"))],
  },
  {
    name: "gemini-cli#3814: compression keeps half of a turn's responses",
    rule: "gemini-40",
    wire: [
      ...story,
      model(call("read"), call("read"), call("bash")),
      user(response("read", long), response("read"), response("bash")),
      model(text("done")),
      user(text("continue")),
    ],
    broken: [
      user(text("Summary.")),
      model(call("read"), call("bash")),
      user(response("read")),
      user(text("continue")),
    ],
    stages: [fold],
  },
  {
    name: "gemini-cli#4105: compression starts behind the call",
    rule: "common-05",
    wire: [...story, model(call("read")), user(response("read", long)), model(text("x")), user(text("next"))],
    broken: [user(response("read")), model(text("x")), user(text("next"))],
    stages: [foldForUser],
  },
  {
    name: "gemini-cli#4141: what is kept starts with a response",
    rule: "gemini-40",
    wire: [...story, model(call("read")), user(response("read", long))],
    broken: [user(text("Summary.")), model(text("Got it.")), user(response("read"))],
    stages: [fold],
  },
  {
    name: "gemini-cli#4568: the user speaks while a tool runs",
    rule: "gemini-40",
    wire: [user(text("a")), model(call("read")), user(text("hurry")), user(response("read", "late"))],
    broken: [user(text("a")), model(call("read")), user(text("hurry")), user(response("read", "late"))],
    expectSent: (sent) => expect(sent.indexOf("late")).toBeLessThan(sent.indexOf("hurry")),
  },
  {
    name: "gemini-cli#4720: a cancelled call bricks every later request",
    rule: "gemini-40",
    wire: [user(text("a")), model(call("read")), user(text("b")), model(text("c")), user(text("d"))],
    broken: [user(text("a")), model(call("read")), user(text("b")), model(text("c")), user(text("d"))],
  },
  {
    name: "gemini-cli-pro#39: a response is there twice",
    rule: "gemini-40",
    wire: [user(text("a")), model(call("read")), user(response("read"), response("read"))],
    broken: [user(text("a")), model(call("read")), user(response("read"), response("read"))],
  },
  {
    name: "Gemini 400: a call follows the model's own text",
    rule: "gemini-41",
    wire: [user(text("a")), model(text("b")), user(text("c")), model(call("read")), user(response("read"))],
    broken: [user(text("a")), model(text("b")), model(call("read")), user(response("read"))],
    stages: [hide(2)],
  },
  {
    name: "crewAI#6973: the contents end with the model",
    rule: "gemini-42",
    wire: [...story, model(text("done"))],
    broken: [user(text("Summary.")), model(text("done"))],
    stages: [fold],
  },
  {
    name: "crewAI#7134: an empty content is sent",
    rule: "gemini-42",
    wire: [user(text("a")), model(), user(text("b"))],
    broken: [user(text("a")), model(), user(text("b"))],
  },
  {
    name: "octos#1897: a rebuilt history has no signature in the current turn",
    rule: "gemini-43",
    wire: {
      model: "gemini-3-pro",
      contents: [
        user(text("a")),
        model(call("read", signed("s1"))),
        user(response("read", long)),
        model(call("bash", signed("s2"))),
        user(response("bash")),
      ],
    },
    broken: {
      model: "gemini-3-pro",
      contents: [
        user(text("a")),
        model(call("read", signed("s1"))),
        user(response("read")),
        model(call("bash")),
        user(response("bash")),
      ],
    },
    stages: [pruneAll, fold],
    expectSent: (sent) => expect(sent).toContain("s2"),
  },
  {
    name: "vercel/ai#15550: the first of parallel calls is hidden, and its signature with it",
    rule: "gemini-43",
    wire: {
      model: "gemini-3-pro",
      contents: [
        user(text("a")),
        model(call("read", signed("s1")), call("bash")),
        user(response("read"), response("bash")),
      ],
    },
    broken: {
      model: "gemini-3-pro",
      contents: [user(text("a")), model(call("bash")), user(response("bash"))],
    },
    stages: [hidePart(1, 0)],
    expectSent(sent) {
      expect(sent).toContain("s1");
      expect(sent).not.toContain("skip_thought_signature_validator");
    },
  },
  {
    name: "pi#1829: a history of another model comes to Gemini 3 without signatures",
    rule: "gemini-43",
    wire: { model: "gemini-3-pro", contents: [user(text("a")), model(call("read")), user(response("read"))] },
    broken: {
      model: "gemini-3-pro",
      contents: [user(text("a")), model(call("read")), user(response("read"))],
    },
  },
];

describe("breakages that were reported for Gemini", () => {
  it.each(regressions.map((regression) => [regression.name, regression] as const))("%s", (_, regression) => {
    expectNoRegression(gemini, regression);
  });

  it("ai.google.dev thought-signatures: cutting inputs does not put a signature on another part", () => {
    const input = { functionCall: { name: "write", args: { path: "a.ts", content: long } }, ...signed("s1") };
    const wire = [
      user(text("a")),
      model(input, call("read")),
      user(response("write"), response("read", long)),
    ];
    const limits = {
      tier1Count: 0,
      tier2Count: 0,
      resultChars: { 1: 9, 2: 9, 3: 9 },
      paramsChars: { 1: 9, 2: 9, 3: 9 },
    };
    const { edits } = runStages(gemini.decode(wire), [graduatedTiers({ limits })], { at });
    const after = gemini.apply(wire, edits, { at });
    expect(edits.length).toBeGreaterThan(0);
    expect(findGeminiEditFaults(wire, after)).toEqual([]);
    expect(findGeminiFaults(after)).toEqual([]);
  });

  it("gemini-cli#19856: a summariser gets no media in responses once they are dropped", () => {
    const media = { parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }] };
    const wire = [user(text("a")), model(call("screenshot")), user(response("screenshot", "done", media))];
    const { edits } = runStages(gemini.decode(wire), [dropImages], { at });
    const after = gemini.apply(wire, edits, { at });
    expect(findGeminiFaults(after, { reader: "summarizer" })).toEqual([]);
    expect(findGeminiFaults(wire, { reader: "summarizer" })).toMatchObject([{ rule: "gemini-45" }]);
  });
});
