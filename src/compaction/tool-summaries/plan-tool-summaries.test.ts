import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../../test/rig/notation.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "../trigger/compaction-settings.ts";
import {
  handleOfRef,
  planToolSummaries,
  summaryPlace,
  type ToolSummaryBatch,
  type ToolSummarySettings,
} from "./plan-tool-summaries.ts";

const history = (notation: string): Transcript => deepFreeze(transcript(notation));
const settings = (change: Partial<ToolSummarySettings> = {}): ToolSummarySettings => ({
  toolCallCutoff: 2,
  mode: "sync",
  ...change,
});
const handles = (batches: readonly ToolSummaryBatch[]): string =>
  batches.map((batch) => batch.results.map(handleOfRef).join(",")).join(" ");
const planned = (notation: string, change: Partial<ToolSummarySettings> = {}): string =>
  handles(planToolSummaries(history(notation), settings(change)).batches);

describe("planToolSummaries", () => {
  it.each([
    {
      name: "takes the oldest above the cutoff",
      before: "u:1 a(x:9) a(x:9) a(x:9) a(x:9) a:1",
      plan: "m2/0 m3/0",
    },
    { name: "takes nothing at the cutoff", before: "u:1 a(x:9) a(x:9) a:1", plan: "" },
    { name: "takes single results of a message", before: "u:1 a:5(x:9,x:9,x:9) a:1", plan: "m2/1" },
    { name: "takes errors like outputs", before: "u:1 a(x!9) a(x:9) a(x:9) a:1", plan: "m2/0" },
    { name: "counts no pending call", before: "u:1 a(x:9) a(x:9) a(x?)", plan: "" },
    { name: "takes nothing from an empty transcript", before: "", plan: "" },
    {
      name: "neither counts nor takes protected tools",
      before: "u:1 a(skill:9) a(question:9) a(x:9) a(ask_user_questions:9) a(x:9) a(x:9) a:1",
      plan: "m4/0",
    },
    {
      name: "neither counts nor takes pruned results",
      before: "u:1 a(x~9) a(x~9) a(x:9) a(x:9) a(x:9) a:1",
      plan: "m4/0",
    },
    {
      name: "counts results that the model has not answered, and never takes them",
      before: "u:1 a(x:9) a(x:9,x:9,x:9)",
      plan: "m2/0",
    },
    {
      name: "takes none of 25 parallel calls in the current turn",
      before: `u:1 a(${Array(25).fill("x:9").join(",")})`,
      plan: "",
    },
    {
      name: "results before a waiting user message are not answered either",
      before: "u:1 a(x:9,x:9,x:9) u:1",
      plan: "",
    },
    {
      name: "looks only at what is still sent after a compaction",
      before: "u:1 a(x:9) a(x:9) m s:5 a(x:9) a(x:9) a(x:9) a:1",
      plan: "m6/0",
    },
  ])("$name", ({ before, plan }) => {
    expect(planned(before)).toBe(plan);
  });

  it("an answer that failed before its first word proves nothing", () => {
    const before = transcript("u:1 a(x:9) a(x:9) a(x:9) a");
    expect(handles(planToolSummaries(before, settings()).batches)).toBe("m2/0");
    const lone = transcript("u:1 a(x:9,x:9,x:9) a");
    expect(planToolSummaries(lone, settings()).batches).toEqual([]);
  });

  it("is switched off by a cutoff of 0 or less and by the strategy off", () => {
    const before = "u:1 a(x:9) a(x:9) a(x:9) a:1";
    expect(planned(before, { toolCallCutoff: 0 })).toBe("");
    expect(planned(before, { toolCallCutoff: -3 })).toBe("");
    expect(planned(before, { toolSummaryStrategy: "off" })).toBe("");
  });

  it("reads an empty strategy as llm", () => {
    const ask = (toolSummaryStrategy: ToolSummarySettings["toolSummaryStrategy"]) =>
      planToolSummaries(history("u:1 a(x:9) a(x:9) a(x:9) a:1"), {
        toolCallCutoff: 2,
        ...(toolSummaryStrategy !== undefined && { toolSummaryStrategy }),
      });
    expect(ask("")).toEqual(ask("llm"));
    expect(ask(undefined)).toEqual(ask("llm"));
    expect(ask("llm").batches[0]?.request).toBeDefined();
    expect(ask("heuristic").batches[0]?.request).toBeUndefined();
  });

  it("takes the settings of a compaction as they are", () => {
    const plan = planToolSummaries(history(`u:1 ${"a(x:9) ".repeat(12)}a:1`), DEFAULT_COMPACTION_SETTINGS);
    expect(plan).toMatchObject({ visibleResults: 12, neededResults: 2, timing: "now" });
    expect(plan.batches.map((batch) => handles([batch]))).toEqual(["m2/0", "m3/0"]);
    const later = planToolSummaries(history(`u:1 ${"a(x:9) ".repeat(12)}a:1`), {
      ...DEFAULT_COMPACTION_SETTINGS,
      toolSummaryMode: "background",
    });
    expect(later).toMatchObject({ timing: "later" });
    expect(handles(later.batches)).toBe("m2/0,m3/0");
  });

  it("a result without a call is not counted: it is dropped before sending", () => {
    const before = transcript("u:1 a(x:9) a(x:9) a(x:9) a(x:9) a:1").map((message): Message => {
      const [part] = message.parts;
      if (part?.type !== "tool" || message.id !== "m2") return message;
      return { ...message, parts: [{ ...part, callMissing: true }] };
    });
    expect(planToolSummaries(before, settings()).visibleResults).toBe(3);
  });
});

describe("planToolSummaries in the background", () => {
  const loop = (results: number) => history(`u:1 ${"a(x:9) ".repeat(results)}a:1`);
  const background = settings({ toolCallCutoff: 10, mode: "background" });

  it("makes batches of 4, and at most 2 of them", () => {
    const plan = planToolSummaries(loop(20), background);
    expect(plan.timing).toBe("later");
    expect(handles(plan.batches)).toBe("m2/0,m3/0,m4/0,m5/0 m6/0,m7/0,m8/0,m9/0");
  });

  it("leaves no more than 2 batches pending", () => {
    const { batches } = planToolSummaries(loop(20), background);
    expect(handles(planToolSummaries(loop(20), background, batches.slice(0, 1)).batches)).toBe(
      "m6/0,m7/0,m8/0,m9/0",
    );
    expect(planToolSummaries(loop(20), background, batches).batches).toEqual([]);
  });

  it("need is visible less cutoff less queued", () => {
    const [queued] = planToolSummaries(loop(12), background).batches;
    const plan = planToolSummaries(loop(13), background, queued === undefined ? [] : [queued]);
    expect(plan.neededResults).toBe(1);
    expect(handles(plan.batches)).toBe("m4/0");
    expect(planToolSummaries(loop(12), background, queued === undefined ? [] : [queued]).batches).toEqual([]);
  });

  it("a queued result that is gone counts no more", () => {
    const gone = { results: [{ messageId: "nowhere", partIndex: 0, callId: "c", tool: "x" }] };
    expect(planToolSummaries(loop(12), background, [gone]).neededResults).toBe(2);
  });

  it.each([
    { results: 20, timing: "later" },
    { results: 21, timing: "now" },
  ])("$results results with a cutoff of 10 are summed up $timing", ({ results, timing }) => {
    expect(planToolSummaries(loop(results), background).timing).toBe(timing);
  });

  it("awaited batches cover the whole need", () => {
    const { batches } = planToolSummaries(loop(31), background);
    expect(batches.map((batch) => batch.results.length)).toEqual([4, 4, 4, 4, 4, 1]);
  });

  it("a batch is plain data", () => {
    const { batches } = planToolSummaries(loop(14), background);
    expect(JSON.parse(JSON.stringify(batches))).toEqual(batches);
  });
});

describe("the place of summaries", () => {
  it.each([
    { name: "behind the current tool results", before: "u:1 a(x:9) a(x:9) a(x:9)", place: "m4" },
    { name: "before a user message that waits", before: "u:1 a(x:9) a:1 u:1", place: "m3" },
    { name: "before several user messages that wait", before: "u:1 a(x:9) a:1 u:1 u:1", place: "m3" },
    { name: "before a compaction that is asked for", before: "u:1 a(x:9) a:1 m", place: "m3" },
    { name: "in front when there is nothing else", before: "u:1", place: null },
  ])("$name", ({ before, place }) => {
    expect(summaryPlace(filterCompacted(history(before)))).toBe(place);
  });
});
