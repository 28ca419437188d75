import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeSummarizer } from "../../test/rig/fakes.ts";
import { startSession, step, user, words } from "../../test/rig/session.ts";
import { aiSdk } from "../formats/wires/ai-sdk/ai-sdk.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { ToolPart } from "../transcript/part.ts";
import type { Session } from "./session.ts";

const PLAN = `<plan nonce="7">\nstep 1 & step 2, key sk-ant-api03-${"a1B2".repeat(20)}\n${words(300, "plan")}</plan>`;
const KEEP = { perTool: { plan: { keep: "always" } } } as const;

const tool = (id: string, name: string, output: string): Message => step(id, output, { tool: name });

/** Both calls in one message, with a text. */
const both = (id: string): Message => {
  const [plan] = tool(id, "Plan", PLAN).parts as readonly ToolPart[];
  const [bash] = tool(id, "bash", words(300)).parts as readonly ToolPart[];
  const parts = [
    { type: "text", text: "I look." },
    bash,
    { ...plan, callId: `${id}-plan` },
  ] as Message["parts"];
  return { id, role: "assistant", finish: "tool-calls", parts };
};

const outputs = (transcript: Transcript, name: string): readonly string[] =>
  transcript.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.type === "tool" && part.tool.toLowerCase() === name && part.outcome.status === "done"
        ? [part.outcome.output]
        : [],
    ),
  );

/** Steps with a long output each, and the window prepared before each of them. */
async function work(session: Session, steps: number, size = 1_200): Promise<void> {
  for (let index = 0; index < steps; index++) {
    session.append(step(`s${session.transcript().length}`, words(size, `w${index}`)));
    await session.prepare({ moment: "after-turn" });
  }
}

const applied = (session: Session, name: string): number =>
  session.ledger().filter(({ step: each, outcome }) => each === name && outcome === "applied").length;

describe("an output that is kept", () => {
  it.each<{ name: string; step: string; options: EngineOptions }>([
    { name: "with the defaults", step: "prune", options: {} },
    // By default pruning spares these sessions the compaction.
    { name: "where nothing is pruned", step: "compact", options: { prune: "off" } },
    {
      name: "where outputs are cleared",
      step: "compact",
      options: { prune: { how: "clear", protectTokens: 0, minimumTokens: 0 } },
    },
    {
      name: "where results are summed up",
      step: "summarize-tool-results",
      options: { compaction: { toolSummaryStrategy: "heuristic", toolCallCutoff: 2 } },
    },
    {
      name: "where the summary is the user's",
      step: "compact",
      options: { representation: "user-summary", prune: "off" },
    },
    { name: "as documented", step: "summarize-tool-results", options: { profile: "documented" } },
  ])("stands word for word before the model after every step: $name", async ({ step: expected, options }) => {
    const { session, events } = startSession({ ...KEEP, ...options });
    session.append(user("u", "Follow the plan."));
    session.append(both("p"));
    await work(session, 60);
    expect(applied(session, expected)).toBeGreaterThan(1);
    expect(outputs(session.messages(), "plan")).toEqual([PLAN]);
    // Of the message that it stands in nothing else is left.
    expect(outputs(session.messages(), "bash")).not.toContain(words(300));
    if (applied(session, "compact") > 0) expect(JSON.stringify(session.messages())).not.toContain("I look.");
    expect(aiSdk.faults(aiSdk.encode(session.messages()))).toEqual([]);
    expect(
      events.filter((event) => event.type === "warning" && event.code === "protected-output-dropped"),
    ).toEqual([]);
  });

  it("goes with the others without the option", async () => {
    const { session } = startSession();
    session.append(user("u", "Follow the plan."));
    session.append(both("p"));
    await work(session, 60);
    expect(outputs(session.messages(), "plan")).not.toContain(PLAN);
  });

  it("is not what prune.protectedTools names: the document protects from pruning alone", async () => {
    const { session } = startSession({ profile: "documented", prune: { protectedTools: ["plan"] } });
    session.append(user("u", "Follow the plan."));
    session.append(both("p"));
    await work(session, 60);
    expect(outputs(session.messages(), "plan")).not.toContain(PLAN);
  });

  it.each<{ name: string; options: EngineOptions }>([
    { name: "with the defaults", options: {} },
    { name: "where nothing is pruned", options: { prune: "off" } },
  ])("is not trimmed, and stays through a refusal until nothing else is left: $name", async ({ options }) => {
    const { session } = startSession({ ...KEEP, ...options });
    const long = words(2_000, "plan");
    session.append(user("u", "Follow the plan."));
    session.append(tool("p", "plan", long));
    await session.prepare();
    expect(outputs(session.messages(), "plan")).toEqual([long]);
    await work(session, 14);
    session.onProviderError(new Error("prompt is too long: 42000 tokens > 40000 maximum"));
    expect((await session.prepare()).type).toBe("retry");
    expect(outputs(session.messages(), "plan")).toEqual([long]);
    session.onProviderError(new Error("prompt is too long: 50000 tokens > 3000 maximum"));
    expect((await session.prepare()).type).toBe("retry");
    expect(outputs(session.messages(), "plan")).not.toEqual([long]);
  });

  it("is dropped, the oldest first, when all together would fill the window; told once for each", async () => {
    let summaries = 0;
    const summarizer = createFakeSummarizer(() => `## Goal\nFollow plan ${++summaries} of many.`);
    const { session, events } = startSession(KEEP, { summarizer });
    session.append(user("u", "Follow the plans."));
    for (let index = 0; index < 12; index++) {
      session.append(tool(`p${index}`, "plan", words(1_000, `plan${index}`)));
      await work(session, 6);
      const action = await session.prepare();
      expect(action).toMatchObject({ type: "none", fits: true });
      expect(session.status().tokens).toBeLessThan(36_000);
    }
    const kept = outputs(session.messages(), "plan").filter((text) => text.length >= 6_000);
    expect(kept.length).toBeGreaterThan(2);
    expect(kept.at(-1)).toBe(words(1_000, "plan11"));
    expect(kept).toEqual(Array.from(kept, (_, index) => words(1_000, `plan${12 - kept.length + index}`)));
    const told = events.flatMap((event) =>
      event.type === "warning" && event.code === "protected-output-dropped" ? [event.message] : [],
    );
    expect(told.join().match(/p\d+\/0/g)?.length).toBe(new Set(told.join().match(/p\d+\/0/g)).size);
    expect(told.join()).toContain("p0/0");
  });

  it("is cut where it alone would fill the window", async () => {
    const { session } = startSession(KEEP);
    session.append(user("u", "Follow the plan."));
    session.append(tool("p", "plan", words(60_000, "plan")));
    expect(await session.prepare()).toMatchObject({ type: "none", fits: true });
    expect(outputs(session.messages(), "plan")[0]?.length).toBeLessThan(60_000);
    expect(outputs(session.messages(), "plan")[0]?.length).toBeGreaterThan(20_000);
  });

  it("stands where it stood when the compaction is undone", async () => {
    // Without pruning, so that there is one step to take back.
    const { session } = startSession({ ...KEEP, prune: "off" });
    session.append(user("u", "Follow the plan."));
    session.append(both("p"));
    for (let index = 0; index < 80 && applied(session, "compact") === 0; index++) {
      session.append(step(`t${index}`, words(1_200, `w${index}`)));
      await session.prepare();
    }
    expect(session.messages().find(({ id }) => id === "p")?.parts).toHaveLength(1);
    await session.undo();
    expect(session.messages().find(({ id }) => id === "p")).toEqual(both("p"));
  });
});

describe("a tool's own maxChars", () => {
  const trimmed = async (name: string, options: EngineOptions, size = 30_000): Promise<number> => {
    const { session } = startSession(options);
    session.append(user("u", "Go on."));
    session.append(
      tool(
        "t",
        name,
        "x"
          .repeat(99)
          .concat("\n")
          .repeat(size / 100),
      ),
    );
    await session.prepare();
    return outputs(session.messages(), name)[0]?.length ?? 0;
  };
  const perTool = { Search: { maxChars: 2_000 }, read: { maxChars: 45_000 }, huge: { maxChars: 0 } };

  it("is smaller or larger than what others may have", async () => {
    expect(await trimmed("search", { perTool })).toBeLessThan(2_600);
    expect(await trimmed("bash", { perTool }, 40_000)).toBeLessThan(31_000);
    expect(await trimmed("read", { perTool }, 40_000)).toBe(40_000);
    expect(await trimmed("huge", { perTool }, 40_000)).toBe(40_000);
    // Never more than half of the window.
    expect(await trimmed("huge", { perTool }, 400_000)).toBeLessThan(61_000);
  });

  it("holds where outputs are not trimmed otherwise, and as documented", async () => {
    expect(await trimmed("search", { perTool, toolOutput: "off" })).toBeLessThan(2_600);
    expect(await trimmed("bash", { perTool, toolOutput: "off" })).toBe(30_000);
    expect(await trimmed("search", { perTool, profile: "documented" })).toBeLessThan(2_600);
  });

  it("trims also what is kept", async () => {
    expect(await trimmed("log", { perTool: { log: { maxChars: 1_000, keep: "always" } } })).toBeLessThan(
      1_600,
    );
  });
});
