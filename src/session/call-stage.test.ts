import { describe, expect, it } from "vitest";
import { createSession } from "../../test/rig/engine-session.ts";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { answer, startSession, step, user, words } from "../../test/rig/session.ts";
import { redactTranscript } from "../stages/redact.ts";
import { createMemoryJournal } from "../stores/memory/journal.ts";
import { type Edit, hideMessage } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { SessionEvent } from "./events.ts";
import type { SessionStage } from "./options.ts";
import type { Session } from "./session.ts";
import { isOfCompaction } from "./window.ts";

const OWN = { stage: "own", reason: "note" } as const;

/** Hides what says "note". It does not look whether that is hidden already. */
const dropNotes = (transcript: Transcript): readonly Edit[] =>
  transcript
    .filter(({ parts }) => parts.some((part) => part.type === "text" && part.text.startsWith("note")))
    .map((message) => hideMessage(message, OWN));

const ids = (session: Session): string =>
  session
    .messages()
    .map(({ id }) => id)
    .join(" ");
const warnings = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) =>
    event.type === "warning" && event.code === "stage-failed" ? [event.message] : [],
  );
const TALK: readonly Message[] = [user("u1", "Hello."), answer("a1", "note: be kind"), user("u2", "Go on.")];

/** A session with these messages, prepared. */
async function talk(stages: readonly unknown[], messages = TALK) {
  const started = startSession({ stages: stages as readonly SessionStage[] });
  for (const message of messages) started.session.append(message);
  const action = await started.session.prepare();
  return { ...started, action };
}

describe("stages of one's own", () => {
  it("edit the window, each in a batch that is journalled, in the ledger, and can be undone", async () => {
    const journal = createMemoryJournal();
    const { session } = startSession({ stages: [dropNotes, redactTranscript()] }, { journal });
    for (const message of TALK) session.append(message);
    session.append(step("s1", `key sk-ant-api03-${"a1B2".repeat(20)}`));
    await session.prepare();
    expect(ids(session)).toBe("u1 u2 s1");
    expect(JSON.stringify(session.messages())).not.toContain("sk-ant");
    expect(session.ledger()).toMatchObject([
      { step: "run-stage", reason: "stage 1 (dropNotes)", outcome: "applied" },
      { step: "run-stage", reason: "stage 2", outcome: "applied" },
    ]);
    const { entries } = await journal.read();
    expect(entries.map(({ value }) => (value as { step: string }).step)).toEqual(["run-stage", "run-stage"]);
    expect(await session.undo()).toMatchObject({ status: "undone", batch: { reason: "stage 2" } });
    expect(JSON.stringify(session.messages())).toContain("sk-ant");
    await session.prepare();
    // What was taken back is not done again at once, also not with the next message.
    session.append(user("u3", "And now?"));
    await session.prepare();
    expect(JSON.stringify(session.messages())).toContain("sk-ant");
    expect(ids(session)).toBe("u1 u2 s1 u3");
  });

  it("are called once for each change of the messages, and see what the model sees", async () => {
    const seen: string[] = [];
    const look = (transcript: Transcript): readonly Edit[] => {
      seen.push(transcript.map(({ id }) => id).join(" "));
      return [];
    };
    const { session, action } = await talk([dropNotes, look]);
    expect(action).toMatchObject({ type: "none" });
    await session.prepare();
    await session.prepare({ moment: "after-turn" });
    expect(seen).toEqual(["u1 u2"]);
    session.append(answer("a2", "Yes."));
    await session.prepare();
    expect(seen).toEqual(["u1 u2", "u1 u2 a2"]);
    expect(session.status().batches).toHaveLength(1);
  });

  it("go on after a restart without doing anything twice", async () => {
    const { session } = await talk([dropNotes]);
    const next = startSession({ stages: [dropNotes] }).session;
    await next.restore(TALK, JSON.parse(JSON.stringify(session.toJSON())));
    await next.prepare();
    expect(ids(next)).toBe("u1 u2");
    expect(next.status().batches).toHaveLength(1);
  });

  it("may be async, and more than a preparation has steps", async () => {
    const async = async (transcript: Transcript) => dropNotes(transcript);
    const { session, action } = await talk([...Array.from({ length: 80 }, () => () => []), async]);
    expect(ids(session)).toBe("u1 u2");
    expect(action.type).toBe("none");
  });

  it.each<{ name: string; stage: unknown; says: string }>([
    {
      name: "throws",
      stage: () => {
        throw new Error("no luck");
      },
      says: "stage 1 (stage) threw: Error: no luck",
    },
    { name: "rejects", stage: () => Promise.reject(new Error("no luck")), says: "threw: Error: no luck" },
    { name: "gives no list", stage: () => "hide all", says: "no list of edits" },
    { name: "gives nonsense", stage: () => [null], says: "number 1) that is none" },
    {
      name: "names a message that is not there",
      stage: () => [
        { ...OWN, type: "hide-message", messageId: "u1" },
        { ...OWN, type: "hide-message", messageId: "x" },
      ],
      says: "number 2) of the message x",
    },
    {
      name: "names a part that is not there",
      stage: () => [{ ...OWN, type: "hide-part", messageId: "u1", partIndex: 4, what: "part" }],
      says: "a part that u1 does not have",
    },
    {
      name: "says nonsense about what it leaves out",
      stage: () => [{ ...OWN, type: "hide-message", messageId: "u1", omitted: { chars: "many" } }],
      says: "that is none",
    },
  ])("are skipped and told once, and the others still called: $name", async ({ stage, says }) => {
    const { session, events, action } = await talk([stage, dropNotes]);
    session.append(user("u3", "And now?"));
    await session.prepare();
    expect(ids(session)).toBe("u1 u2 u3");
    expect(action.type).toBe("none");
    expect(warnings(events)).toHaveLength(1);
    expect(warnings(events)[0]).toContain(says);
  });

  it("that hang are not waited for, and after three times not called again", async () => {
    const clock = createFakeClock();
    const events: SessionEvent[] = [];
    let calls = 0;
    const hang = () => {
      calls++;
      return new Promise<readonly Edit[]>(() => {});
    };
    const session = createSession(
      { clock },
      { stages: [hang, dropNotes], onEvent: (event) => events.push(event) },
    );
    for (const message of TALK) session.append(message);
    for (let turn = 0; turn < 5; turn++) {
      session.append(user(`t${turn}`, "Go on."));
      expect((await clock.runUntilDone(session.prepare())).type).toBe("none");
    }
    expect(calls).toBe(3);
    expect(ids(session)).toBe("u1 u2 t0 t1 t2 t3 t4");
    expect(warnings(events)).toHaveLength(1);
    expect(warnings(events)[0]).toContain("stage 1 (hang) took longer than 5 seconds");
  });

  it("are called again after an abort", async () => {
    const work = new AbortController();
    let calls = 0;
    const stage = (transcript: Transcript) => {
      if (++calls === 1) work.abort();
      return dropNotes(transcript);
    };
    const { session } = startSession({ stages: [stage] });
    for (const message of TALK) session.append(message);
    expect(await session.prepare({ signal: work.signal })).toMatchObject({ reason: "aborted" });
    expect(ids(session)).toBe("u1 a1 u2");
    await session.prepare();
    expect([ids(session), calls]).toEqual(["u1 u2", 2]);
  });

  it("whose messages change while they work are called for the new ones", async () => {
    let calls = 0;
    const stage = async (transcript: Transcript) => {
      if (++calls === 1) session.append(answer("a1", "no longer one"));
      return dropNotes(transcript);
    };
    const { session } = startSession({ stages: [stage] });
    for (const message of TALK) session.append(message);
    await session.prepare();
    expect([ids(session), calls]).toEqual(["u1 a1 u2", 2]);
  });

  it("do not touch what is pinned or kept, nor calls that wait for their results", async () => {
    const all = (transcript: Transcript) => transcript.map((message) => hideMessage(message, OWN));
    const { session, events } = startSession({
      stages: [all],
      pins: [{ handle: "u1/0" }],
      perTool: { plan: { keep: "always" } },
    });
    session.append(user("u1", "Hello."));
    session.append(step("p", "the plan", { tool: "plan" }));
    session.append(user("u2", "Go on."));
    session.append(step("s", "", { outcome: { status: "pending" } }));
    await session.prepare();
    expect(ids(session)).toBe("u1 p s");
    expect(warnings(events)).toEqual([]);
  });

  it("leave a compaction as it is, and do not have it made again and again", async () => {
    const all = (transcript: Transcript) =>
      transcript.filter(isOfCompaction).map((each) => hideMessage(each, OWN));
    // By default pruning spares such a session the compaction.
    const { session } = startSession({ stages: [all, redactTranscript()], prune: "off" });
    session.append(user("u", "Go."));
    for (let index = 0; index < 60; index++) {
      session.append(step(`s${index}`, words(1_200, `w${index}`)));
      await session.prepare({ moment: "after-turn" });
    }
    const compactions = session.ledger().filter(({ step: name }) => name === "compact");
    expect(compactions.length).toBeGreaterThan(1);
    expect(compactions.length).toBeLessThan(20);
    expect(JSON.stringify(session.messages())).toContain("Ship the parser.");
  });

  it("must be functions", () => {
    expect(() => startSession({ stages: ["redact"] as unknown as readonly SessionStage[] })).toThrow(
      /stages/,
    );
  });
});
