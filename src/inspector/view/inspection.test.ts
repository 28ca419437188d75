import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkSession, checkView, sessionOf } from "../../../test/rig/inspector/check-view.ts";
import { deepFreeze, transcript } from "../../../test/rig/notation.ts";
import { PROVIDER_CASES } from "../../../test/rig/random-history/provider-cases.ts";
import { randomHistory } from "../../../test/rig/random-history/random-history.ts";
import { runs } from "../../../test/rig/runs.ts";
import { truncationMarker } from "../../text/truncate.ts";
import type { Edit } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { createInspection } from "./inspection.ts";
import type { PolicyId, WindowOptions, WindowView } from "./types.ts";

const POLICIES: readonly PolicyId[] = [
  "as-sent",
  "session",
  "fill",
  "fixed",
  "lines",
  "prune",
  "supersede",
  "local-summary",
  "last-n",
];

const word = fc.oneof(
  fc.nat(3000).map((chars) => `u:${chars}`),
  fc
    .tuple(fc.nat(300), fc.constantFrom("bash", "read"), fc.nat(9000))
    .map(([said, tool, chars]) => `a:${said}(${tool}:${chars})`),
  fc.constantFrom("a(bash?)", "a(bash!700)", "a(read~4000,bash:90)", "a(bash~3)", "m", "s:200", "y:50"),
);
const anyTranscript = fc.array(word, { maxLength: 25 }).map((words) => transcript(words.join(" ")));
const anyOptions = fc.record({
  policy: fc.constantFrom(...POLICIES),
  budget: fc.oneof(fc.integer({ min: 0, max: 30_000 }), fc.constant(Number.NaN)),
  upTo: fc.integer({ min: -1, max: 30 }),
});

describe("a view", () => {
  it("adds up, whatever the policy, the budget and the moment", () => {
    fc.assert(
      fc.property(anyTranscript, anyOptions, (messages, options) => {
        checkView(createInspection(sessionOf(deepFreeze(messages))), options);
      }),
      { numRuns: runs(300) },
    );
  });

  it("is the same after any other views as alone", () => {
    fc.assert(
      fc.property(
        anyTranscript,
        fc.array(anyOptions, { maxLength: 12 }),
        anyOptions,
        (messages, before, last) => {
          const session = sessionOf(messages);
          const used = createInspection(session);
          for (const options of before) used.inspectWindow(options);
          expect(used.inspectWindow(last)).toEqual(createInspection(session).inspectWindow(last));
        },
      ),
      { numRuns: runs(150) },
    );
  });

  it("is the same of a session that grew as of one that came whole", () => {
    fc.assert(
      fc.property(anyTranscript, fc.nat(25), anyOptions, (messages, count, options) => {
        const early = createInspection(sessionOf(messages.slice(0, count)));
        early.inspectWindow(options);
        const grown = early.extend(sessionOf(messages));
        expect(grown.policies).toEqual(createInspection(sessionOf(messages)).policies);
        expect(grown.inspectWindow(options)).toEqual(
          createInspection(sessionOf(messages)).inspectWindow(options),
        );
      }),
      { numRuns: runs(100) },
    );
  });

  it.each(PROVIDER_CASES.map((each) => [each.api, each] as const))(
    "can be had of every random history of %s",
    (_, { format, lower }) => {
      fc.assert(
        fc.property(randomHistory(), (history) => {
          checkSession(createInspection(sessionOf(format.decode(lower(history)))));
        }),
        { numRuns: runs(25, 10) },
      );
    },
  );

  it("holds nothing that JSON would lose", () => {
    const inspection = createInspection(
      sessionOf(transcript("u:10 a(bash:9000) u:10 a:30(read:7000) u:5 a:2")),
    );
    for (const { id: policy } of inspection.policies) {
      const view = inspection.inspectWindow({ policy });
      expect(JSON.parse(JSON.stringify(view))).toEqual(view);
    }
    const fork = inspection.previewForks({ profile: "default", budgetChars: 2_000 }).trimmed;
    expect(JSON.parse(JSON.stringify(fork))).toEqual(fork);
  });
});

describe("where everything fits", () => {
  it.each(["as-sent", "session", "fill", "lines", "prune", "local-summary", "last-n"] as const)(
    "%s changes nothing",
    (policy) => {
      const view = viewOf("y:30 u:10 a:20(bash:300) u:10 a:20", { policy, budget: Number.MAX_SAFE_INTEGER });
      expect(view.tokensAfter).toBe(view.tokensBefore);
      expect(view.byFate.map(({ fate }) => fate)).toEqual(["kept"]);
      expect(view.byReason).toEqual([]);
    },
  );
});

describe("fates", () => {
  it.each<{ name: string; before: string; options: WindowOptions; fates: string }>([
    {
      name: "what lies before a compaction is summed up, and marker and summary stay",
      before: "u:100 a(bash:500) m s:50 u:10",
      options: { policy: "as-sent" },
      fates: "summarized summarized kept kept kept",
    },
    {
      name: "the compaction has not happened yet while one looks at an earlier moment",
      before: "u:100 a(bash:500) m s:50 u:10",
      options: { policy: "as-sent", upTo: 3 },
      fates: "kept kept kept",
    },
    {
      name: "what the host has cleared is cleared",
      before: "u:10 a(bash~900) u:10",
      options: { policy: "as-sent" },
      fates: "kept cleared kept",
    },
    {
      name: "the tiers clip old results",
      before: `u:10 ${"a(bash:900) ".repeat(16)}u:10`,
      options: { policy: "fixed" },
      fates: `kept clipped ${"kept ".repeat(15)}kept`,
    },
    {
      name: "the budget of the documented pipeline hides the oldest",
      before: "u:900 a:900 u:300 a:100",
      options: { policy: "fixed", budget: 700 },
      fates: "hidden hidden kept kept",
    },
    {
      name: "different messages leave for different reasons",
      before: "u:100 a:100 m s:20 u:900 a:900 u:300 a:100",
      options: { policy: "fixed", budget: 700 },
      fates: "summarized summarized summarized kept hidden hidden kept kept",
    },
    {
      name: "a session clears nothing and compacts nothing while there is room",
      before: "u:9 a(bash:9000) u:9 a(bash:9000) u:9 a:9",
      options: { policy: "session" },
      fates: "kept kept kept kept kept kept",
    },
    {
      name: "the same output again makes the older one needless",
      before: "u:9 a(bash:900) u:9 a(bash:900) u:9 a:9 u:9",
      options: { policy: "supersede" },
      fates: "kept superseded kept kept kept kept kept",
    },
    {
      name: "pruning clears old outputs and leaves the newest turns alone",
      before: "u:9 a(bash:9000) a(bash:8000) u:9 a(bash:7000) u:9 a:9",
      options: { policy: "prune", budget: 1_000 },
      fates: "kept cleared cleared kept kept kept kept",
    },
    {
      name: "keeping lines leaves a handle in old outputs of which no line is chosen",
      before: `u:9 ${"a:9(bash:900) ".repeat(12)}u:9 a:9`,
      options: { policy: "lines", budget: 9_700 },
      fates: `kept clipped clipped ${"kept ".repeat(11)}kept`,
    },
    {
      name: "keeping lines takes the oldest messages out where lines are not enough",
      before: `u:9 ${"a:9(bash:900) ".repeat(12)}u:9 a:9`,
      options: { policy: "lines", budget: 2_000 },
      fates: `${"hidden ".repeat(11)}kept kept kept kept`,
    },
    {
      name: "a compaction without a model sums up all but the newest",
      before: "u:400 a:9000(bash:30000) u:400 a:9000(bash:30000) u:300 a:400",
      options: { policy: "local-summary", budget: 1_000 },
      fates: "summarized summarized summarized summarized kept kept",
    },
    {
      name: "newest only hides and clips nothing that fits",
      before: "u:900 a:900 u:300 a:100",
      options: { policy: "last-n", budget: 600 },
      fates: "hidden hidden kept kept",
    },
  ])("$name", ({ before, options, fates }) => {
    expect(
      viewOf(before, options)
        .rows.map(({ fate }) => fate)
        .join(" "),
    ).toBe(fates);
  });

  it("say in a sentence why, with the stage and the saving", () => {
    const { rows, byReason } = viewOf(`u:10 ${"a(bash:900) ".repeat(16)}u:10`, { policy: "fixed" });
    expect(rows[1]?.items.find(({ side }) => side === "output")).toMatchObject({
      fate: "clipped",
      stage: "graduated-tiers",
      reason: "Not among the 15 newest results: cut to 500 characters.",
      handle: "m2/0",
      chars: 900,
      savedChars: 400 - truncationMarker(400, "head-tail").length,
    });
    expect(byReason).toMatchObject([
      { stage: "graduated-tiers", reason: "tier-3", fate: "clipped", items: 1 },
    ]);
  });

  it("credit the newest edit of each side of a call", () => {
    const long = transcript("u:10 a(write:10) u:10");
    const input = { filePath: "/a.ts", content: "x".repeat(900) };
    const calls = long.map((message) => withInput(message, input));
    const items = createInspection(sessionOf(calls)).inspectWindow({ policy: "fixed" }).rows[1]?.items;
    expect(items?.map(({ side, fate }) => `${side} ${fate}`)).toEqual(["input clipped", "output kept"]);
    expect(items?.[0]).toMatchObject({
      path: "/a.ts",
      reason: "The input of a call is cut by the age of its result.",
    });
  });

  it("of a session whose window is full are those of a compaction", () => {
    const notation = `u:9 ${"a:9000 ".repeat(30)}u:9 a:9`;
    const { rows, inserted } = viewOf(notation, { policy: "session", budget: 20_000 });
    expect([rows[0]?.fate, rows.at(-1)?.fate]).toEqual(["summarized", "kept"]);
    expect(inserted.map(({ kind }) => kind)).toEqual(["marker", "summary"]);
  });

  it("of a picture is its own, whatever happens to the output beside it", () => {
    const attachments = [{ type: "file", mime: "image/png" } as const];
    const outcome = { status: "done", output: "x".repeat(900), attachments } as const;
    const call = { type: "tool", callId: "c", tool: "shot", input: {}, outcome } as const;
    const session = sessionOf([
      { id: "a", role: "assistant", parts: [call] },
      ...transcript(`u:9 ${"a(bash:9) ".repeat(15)}u:9`),
    ]);
    const inspection = createInspection(session);
    const fatesOf = (options: WindowOptions) =>
      inspection.inspectWindow(options).rows[0]?.items.map(({ side, fate }) => `${side} ${fate}`);
    expect(fatesOf({ policy: "fixed" })).toEqual(["input kept", "output clipped", "media kept"]);
    expect(fatesOf({ policy: "prune", budget: 0 })).toEqual([
      "input kept",
      "output cleared",
      "media cleared",
    ]);
  });

  it("follow the budget back and forth", () => {
    const session = sessionOf(transcript("u:5000"));
    const used = createInspection(session);
    for (const budget of [3_000, 1_000, 3_000, 2_000]) {
      const options = { policy: "last-n", budget } as const;
      expect(used.inspectWindow(options)).toEqual(createInspection(session).inspectWindow(options));
    }
  });

  it("are those of the right message where ids are repeated", () => {
    const twice = transcript("u:900 a:900 u:300 a:100").map((message) => ({ ...message, id: "same" }));
    const view = checkView(createInspection(sessionOf(twice)), { policy: "last-n", budget: 600 });
    expect(view.rows.map(({ id, fate }) => `${id} ${fate}`)).toEqual([
      "same hidden",
      "same~2 hidden",
      "same~3 kept",
      "same~4 kept",
    ]);
  });

  it("keep the reason that was recorded for a part that was hidden before", () => {
    const parts = [{ type: "text", text: "secret plan", agentVisible: false } as const, ...textOf("u:900")];
    const session = sessionOf([{ id: "m0", role: "user", parts }, ...transcript("u:300 a:100")]);
    const { rows } = createInspection(session).inspectWindow({ policy: "last-n", budget: 600 });
    expect(rows[0]?.items.map(({ stage }) => stage)).toEqual(["recorded", "char-budget"]);
  });

  it("keep the reason that was recorded for what was hidden before", () => {
    const hidden = transcript("u:100 a:100 u:100").map((message, index) =>
      index === 0 ? { ...message, metadata: { agentVisible: false } } : message,
    );
    const { rows } = createInspection(sessionOf(hidden)).inspectWindow({ policy: "last-n", budget: 512 });
    expect(rows[0]).toMatchObject({ fate: "hidden", keptTokens: 0 });
    expect(rows[0]?.items[0]).toMatchObject({ stage: "recorded", reasonId: "hidden" });
  });
});

describe("an inserted summary", () => {
  it("stands before the first message that stays and counts in what is left", () => {
    const view = viewOf("u:400 a:9000(bash:30000) u:400 a:9000(bash:30000) u:300 a:400", {
      policy: "local-summary",
      budget: 1_000,
    });
    expect(view.inserted.map(({ kind, beforeIndex }) => `${kind} ${beforeIndex}`)).toEqual([
      "marker 4",
      "summary 4",
    ]);
    const keptTokens = view.rows.reduce((sum, row) => sum + row.keptTokens, 0);
    const summaryTokens = view.inserted.reduce((sum, { tokens }) => sum + tokens, 0);
    expect(summaryTokens).toBeGreaterThan(0);
    expect(view.tokensAfter).toBe(keptTokens + summaryTokens);
  });
});

describe("the cached prefix", () => {
  it("is what the model was last asked with, as long as nothing in it changes", () => {
    const view = viewOf("u:100 a:100 u:100 a:100 u:100", { policy: "as-sent" });
    expect(view.cachedPrefix).toMatchObject({ messages: 3, endIndex: 3 });
  });

  it("ends at the first edit", () => {
    const { cachedPrefix } = viewOf("u:9 a(bash:900) u:9 a(bash:900) u:9 a:9 u:9", { policy: "supersede" });
    expect(cachedPrefix).toMatchObject({ messages: 1, endIndex: 1 });
  });

  it("is gone behind a compaction", () => {
    const view = viewOf("u:100 a(bash:500) u:5 a:5 m s:50", { policy: "as-sent" });
    expect(view.cachedPrefix).toEqual({ messages: 0, tokens: 0, endIndex: 0 });
    expect(view.boundaries).toEqual([5]);
  });
});

describe("time", () => {
  const cleared: Transcript = transcript("u:10 a(bash~900) u:10 a:10 u:10").map((message, index) => ({
    ...message,
    createdAt: index * 1_000,
    parts: message.parts.map((part) => (part.type === "tool" ? { ...part, clearedAt: 3_500 } : part)),
  }));

  it("shows an output whole until the moment at which it was cleared", () => {
    const inspection = createInspection(sessionOf(deepFreeze(cleared)));
    const fateAt = (upTo: number) => inspection.inspectWindow({ policy: "as-sent", upTo }).rows[1]?.fate;
    expect([2, 3, 4, 5].map(fateAt)).toEqual(["kept", "kept", "kept", "cleared"]);
  });

  it("says that clearing broke the cached prefix", () => {
    const { cachedPrefix } = createInspection(sessionOf(cleared)).inspectWindow({ policy: "as-sent" });
    expect(cachedPrefix.messages).toBe(1);
  });

  it("shows what a plugin changed from then on, with its own reason, and as part of the cached prefix", () => {
    const messages = transcript("u:10 a(bash:900) u:10 a:10 u:10 a:10 u:10").map((message, index) => ({
      ...message,
      createdAt: index * 1_000,
    }));
    const [, called] = messages;
    const edit: Edit = {
      type: "hide-part",
      what: "output",
      messageId: called?.id ?? "",
      partIndex: 0,
      stage: "prune",
      reason: "pruned",
    };
    const batches = [{ id: "b1", step: "prune", reason: "it pays", at: 3_500, edits: [edit] }];
    const inspection = createInspection({ ...sessionOf(messages), batches });
    const fateAt = (upTo: number) => inspection.inspectWindow({ policy: "as-sent", upTo }).rows[1]?.fate;
    expect([3, 4, 5, 7].map(fateAt)).toEqual(["kept", "kept", "cleared", "cleared"]);
    const { rows, cachedPrefix } = inspection.inspectWindow({ policy: "as-sent" });
    expect(rows[1]?.items.at(-1)).toMatchObject({ stage: "prune", reasonId: "pruned" });
    expect(cachedPrefix.messages).toBe(5);
  });
});

function viewOf(notation: string, options: WindowOptions): WindowView {
  return createInspection(sessionOf(deepFreeze(transcript(notation)))).inspectWindow(options);
}

function textOf(notation: string): Message["parts"] {
  return transcript(notation).flatMap(({ parts }) => parts);
}

function withInput(message: Message, input: unknown): Message {
  return {
    ...message,
    parts: message.parts.map((part) => (part.type === "tool" ? { ...part, input } : part)),
  };
}
