import fc from "fast-check";

/** A conversation as a person, a model and its tools hold it, in a window that is most of the time too small for it. */
export interface Conversation {
  readonly windowTokens: number;
  /** Whether the provider refuses what is longer than the window, or only says how long it was. */
  readonly windowIs: "enforced" | "reported";
  readonly prune: "on" | "off";
  readonly isThinking: boolean;
  readonly isStreamed: boolean;
  /** Whether the provider keeps its answers, where it can, and is sent their names. */
  readonly isStored: boolean;
  /** Some servers give the same ids to the calls of every step. */
  readonly callIds: "fresh" | "repeated";
  readonly turns: readonly Turn[];
}

export interface Turn {
  readonly question: string;
  readonly file: "none" | "image" | "pdf";
  readonly steps: readonly Step[];
  readonly answer: string;
}

/** One answer of the model that ends with calls. */
export interface Step {
  readonly text: string;
  readonly calls: readonly Call[];
  /** Searches that the provider itself runs, by the characters that they find. */
  readonly searches: readonly number[];
}

export interface Call {
  /** `screenshot` returns an image; `deploy` needs the approval of a person. */
  readonly tool: "read" | "edit" | "bash" | "screenshot" | "deploy";
  readonly file: number;
  readonly chars: number;
  readonly isFailed: boolean;
  readonly isApproved: boolean;
}

const words = fc.lorem({ maxCount: 12 });
const rarely = fc.nat(9).map((number) => number === 9);

const call: fc.Arbitrary<Call> = fc.record({
  tool: fc.constantFrom("read", "read", "read", "edit", "edit", "bash", "bash", "screenshot", "deploy"),
  // Few files, so that a later call supersedes an earlier one.
  file: fc.nat(3),
  chars: fc.oneof(fc.nat(200), fc.integer({ min: 500, max: 6_000 })),
  isFailed: rarely,
  isApproved: fc.boolean(),
});

const searches = fc.oneof(
  { weight: 4, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(fc.oneof(fc.constant(0), fc.nat(4_000)), { minLength: 1, maxLength: 2 }) },
);

const step: fc.Arbitrary<Step> = fc.record({
  text: fc.oneof(fc.constant(""), words),
  calls: fc.array(call, { minLength: 1, maxLength: 3 }),
  searches,
});

/** Between half as many turns and these, of up to so many steps each. */
function turnsUpTo(maxLength: number, maxSteps: number): fc.Arbitrary<readonly Turn[]> {
  const turn = fc.record({
    question: words,
    file: fc.constantFrom("none", "none", "none", "none", "none", "none", "image", "pdf"),
    steps: fc.array(step, { maxLength: maxSteps }),
    answer: words,
  });
  return fc.array(turn, { minLength: Math.ceil(maxLength / 2), maxLength, size: "max" });
}

/** Reads and edits of the same files, searches of the provider, files, thinking, approvals, failures. */
function conversationsOf(turns: fc.Arbitrary<readonly Turn[]>): fc.Arbitrary<Conversation> {
  return fc.record({
    windowTokens: fc.constantFrom(2_000, 4_000, 12_000),
    windowIs: fc.constantFrom("enforced", "reported"),
    prune: fc.constantFrom("on", "off"),
    isThinking: fc.boolean(),
    isStreamed: fc.boolean(),
    isStored: fc.boolean(),
    callIds: fc.constantFrom("fresh", "fresh", "fresh", "repeated"),
    turns,
  });
}

/** Up to 25 turns, most of the time few. */
export const anyConversation: fc.Arbitrary<Conversation> = conversationsOf(
  fc.oneof(
    { weight: 90, arbitrary: turnsUpTo(4, 2) },
    { weight: 9, arbitrary: turnsUpTo(10, 3) },
    { weight: 1, arbitrary: turnsUpTo(25, 4) },
  ),
);

/** Conversations of exactly so many turns, at most 25. */
export function longConversation(turnCount: number): fc.Arbitrary<Conversation> {
  return conversationsOf(turnsUpTo(50, 3).map((turns) => turns.slice(0, turnCount)));
}
