import fc from "fast-check";

/** What happens in a generated session, turn after turn. */
export type TurnPlan = TalkPlan | CompactionPlan;

/** The user says something and the model answers in any number of messages, or not at all. */
export interface TalkPlan {
  readonly type: "talk";
  readonly user: readonly UserPartPlan[];
  readonly answers: readonly AnswerPlan[];
}

export interface CompactionPlan {
  readonly type: "compaction";
  readonly trigger: "auto" | "manual" | "overflow";
  /** `adopted` is a summary that hangs on the next user message, as OpenCode leaves it behind a retried compaction. */
  readonly summary: "good" | "failed" | "killed" | "empty" | "adopted";
  /** Where the retained tail begins, from the oldest message it could begin at (0) to the newest (1). */
  readonly tail: number | "none" | "dangling";
  readonly text: string;
  readonly continues: boolean;
}

export type UserPartPlan =
  | { readonly type: "text"; readonly text: string; readonly mark: "plain" | "synthetic" | "ignored" }
  | { readonly type: "file"; readonly mime: string }
  | { readonly type: "agent" }
  | { readonly type: "subtask" };

export interface AnswerPlan {
  readonly end: "said" | "called" | "length" | "failed" | "aborted" | "killed";
  readonly model: "same" | "other";
  readonly steps: readonly StepPlan[];
}

export interface StepPlan {
  readonly reasoning: readonly string[];
  readonly texts: readonly string[];
  readonly calls: readonly CallPlan[];
}

export interface CallPlan {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly state: "done" | "cleared" | "failed" | "stopped" | "running" | "pending";
  readonly output: string;
  readonly attachments: readonly string[];
}

const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: fc.lorem({ maxCount: 12 }) },
  { weight: 2, arbitrary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }) },
  { weight: 1, arbitrary: fc.lorem({ maxCount: 120 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      " ",
      "\n",
      "What did we do so far?",
      "[Old tool result content cleared]",
      "<system-reminder>Not one.</system-reminder>",
      "line\r\nline\ttab",
      "\u001b[31mred\u001b[0m",
      "😀 e\u0301 \u200b",
    ),
  },
);

const textOrNothing = fc.oneof({ weight: 9, arbitrary: text }, { weight: 1, arbitrary: fc.constant("") });

const mime = fc.constantFrom("image/png", "image/jpeg", "application/pdf");

const call: fc.Arbitrary<CallPlan> = fc.record({
  tool: fc.constantFrom("bash", "read", "grep", "edit", "not_a_tool"),
  input: fc.dictionary(
    fc.constantFrom("command", "filePath", "limit", "deep"),
    fc.jsonValue({ maxDepth: 2 }),
  ),
  state: fc.constantFrom("done", "done", "done", "cleared", "failed", "stopped", "running", "pending"),
  output: textOrNothing,
  attachments: fc.oneof(
    { weight: 6, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(mime, { minLength: 1, maxLength: 2 }) },
  ),
});

const step: fc.Arbitrary<StepPlan> = fc.record({
  reasoning: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 2, arbitrary: fc.array(textOrNothing, { minLength: 1, maxLength: 2 }) },
  ),
  texts: fc.array(textOrNothing, { maxLength: 2 }),
  calls: fc.array(call, { maxLength: 4 }),
});

const answer: fc.Arbitrary<AnswerPlan> = fc.record({
  end: fc.constantFrom("said", "said", "called", "called", "length", "failed", "aborted", "killed"),
  model: fc.constantFrom("same", "same", "same", "other"),
  steps: fc.array(step, { minLength: 0, maxLength: 2 }),
});

const userPart: fc.Arbitrary<UserPartPlan> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("text"),
      text: textOrNothing,
      mark: fc.constantFrom("plain", "plain", "plain", "synthetic", "ignored"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("file"),
      mime: fc.oneof(mime, fc.constantFrom("text/plain", "application/x-directory")),
    }),
  },
  fc.record({ type: fc.constant("agent") }),
  fc.record({ type: fc.constant("subtask") }),
);

const talk: fc.Arbitrary<TalkPlan> = fc.record({
  type: fc.constant("talk"),
  user: fc.array(userPart, { minLength: 1, maxLength: 3 }),
  answers: fc.array(answer, { maxLength: 4 }),
});

const compaction: fc.Arbitrary<CompactionPlan> = fc.record({
  type: fc.constant("compaction"),
  trigger: fc.constantFrom("auto", "manual", "overflow"),
  summary: fc.oneof(
    { weight: 12, arbitrary: fc.constant("good") },
    { weight: 4, arbitrary: fc.constantFrom("failed", "killed", "empty", "adopted") },
  ),
  tail: fc.oneof(
    { weight: 9, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
    { weight: 4, arbitrary: fc.constant("none") },
    { weight: 1, arbitrary: fc.constant("dangling") },
  ),
  text,
  continues: fc.boolean(),
});

/** Any session that OpenCode could have stored, and some that only a crash or another program leaves behind. */
export const sessionPlan: fc.Arbitrary<readonly TurnPlan[]> = fc.array(
  fc.oneof({ weight: 7, arbitrary: talk }, { weight: 3, arbitrary: compaction }),
  { minLength: 2, maxLength: 9, size: "max" },
);
