import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeSummarizer } from "../../test/rig/fakes.ts";
import { startSession, step, user, words } from "../../test/rig/session.ts";
import type { Message } from "../transcript/message.ts";
import type { NextActionOptions, SessionAction } from "./action.ts";
import type { Session } from "./session.ts";

const MARKER: Message = { id: "marker", role: "user", parts: [{ type: "compaction", trigger: "auto" }] };
const TOO_LONG = new Error("prompt is too long: 41000 tokens > 40000 maximum");

/** What is due, all at once unless it says otherwise. */
interface Given {
  readonly isRefused?: boolean;
  readonly options: EngineOptions;
  readonly marker?: boolean;
  /** How many outputs of about 1,000 tokens there are; the limit is 30,000. */
  readonly outputs?: number;
}

const TRIMMED: EngineOptions = { toolOutput: { maxChars: 2_000 } };
const SUMMED: EngineOptions = {
  toolOutput: "off",
  compaction: { toolSummaryStrategy: "heuristic", toolCallCutoff: 2 },
};
const PLAIN: EngineOptions = { toolOutput: "off" };
const UNPRUNED: EngineOptions = { toolOutput: "off", prune: "off" };

function sessionOf({ isRefused, options, marker, outputs = 33 }: Given): Session {
  const { session } = startSession(options);
  const steps = Array.from({ length: outputs }, (_, index) =>
    step(`s${index}`, words(980, `read${10 + index}`)),
  );
  session.observe([user("u", "Read everything."), ...steps, ...(marker ? [MARKER] : [])]);
  if (isRefused) session.onProviderError(TOO_LONG);
  return session;
}

describe("what a session does next", () => {
  it.each<{ name: string; given: Given; action: object }>([
    {
      name: "a refused request before everything else",
      given: { isRefused: true, options: { ...TRIMMED, stages: [() => []] }, marker: true },
      action: { type: "recover" },
    },
    {
      name: "then outputs that came in",
      given: { options: { ...TRIMMED, stages: [() => []] }, marker: true },
      action: { type: "trim-outputs" },
    },
    {
      name: "then the stages of one's own",
      given: { options: { ...SUMMED, stages: [() => []] }, marker: true },
      action: { type: "run-stage", stage: 0 },
    },
    {
      name: "then the compaction of the host",
      given: { options: SUMMED, marker: true },
      action: { type: "none", reason: "host-compacts" },
    },
    { name: "then tool summaries", given: { options: SUMMED }, action: { type: "summarize-tool-results" } },
    {
      name: "then edits that spare a compaction",
      given: { options: PLAIN },
      action: { type: "prune", reason: "over-limit" },
    },
    {
      name: "then the compaction",
      given: { options: UNPRUNED },
      action: { type: "compact", trigger: "threshold" },
    },
    {
      name: "nothing where nothing is due",
      given: { options: UNPRUNED, outputs: 3 },
      action: { type: "none", reason: "under-limit", fits: true },
    },
  ])("$name", ({ given, action }) => {
    expect(sessionOf(given).nextAction()).toMatchObject(action);
  });

  it("nothing while something is being run", async () => {
    const summarizer = createFakeSummarizer(() => new Promise(() => {}));
    const { session } = startSession(UNPRUNED, { summarizer });
    session.observe([
      user("u", "go"),
      ...Array.from({ length: 33 }, (_, index) => step(`s${index}`, words(980, `read${10 + index}`))),
    ]);
    const stop = new AbortController();
    const running = session.run(session.nextAction(), stop.signal);
    expect(session.nextAction()).toMatchObject({ type: "none", reason: "in-progress" });
    stop.abort();
    await running;
    expect(session.nextAction()).not.toMatchObject({ reason: "in-progress" });
  });

  it("asked any number of times it answers the same", () => {
    const session = sessionOf({ options: PLAIN });
    const answers: SessionAction[] = [1, 2, 3].map(() => session.nextAction({ moment: "after-turn" }));
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });

  it.each<{ name: string; before: (session: Session) => unknown; asked?: NextActionOptions; action: object }>(
    [
      {
        name: "none with auto off",
        before: (session) => session.change({ type: "set-auto", autoCompact: false }),
        action: { type: "none", reason: "auto-off" },
      },
      {
        name: "but one by hand",
        before: (session) => session.change({ type: "set-auto", autoCompact: false }),
        asked: { demand: "manual" },
        action: { type: "compact", trigger: "manual" },
      },
      {
        name: "none where the provider compacts",
        before: (session) => session.setManagement({ acts: "compacts" }),
        action: { type: "none", reason: "provider-compacts", fits: false },
      },
      {
        name: "no edit in its place where the provider clears",
        before: (session) => session.setManagement({ acts: "clears" }),
        action: { type: "compact", trigger: "threshold" },
      },
      {
        name: "an edit in its place where nobody does",
        before: () => undefined,
        action: { type: "prune", reason: "over-limit" },
      },
      {
        name: "none just after an undo",
        before: async (session) => {
          await session.prepare();
          await session.undo();
        },
        action: { type: "none", reason: "after-undo", fits: false },
      },
    ],
  )("a compaction: $name", async ({ before, asked, action }) => {
    const session = sessionOf({ options: PLAIN });
    await before(session);
    expect(session.nextAction(asked)).toMatchObject(action);
  });
});
