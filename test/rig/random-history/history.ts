/** A conversation that no provider has seen yet: what happened, in the order in which a client stores it. */
export interface History {
  readonly system: string | undefined;
  readonly steps: readonly Step[];
  /** Whether the client asks the model to think. */
  readonly isThinking: boolean;
  /** How many of the newest messages of the user the client marks to be cached; some mark more than the provider takes. */
  readonly cacheMarks: number;
}

export type Step = UserStep | ModelStep | ResultsStep | FileStep;

export interface UserStep {
  readonly type: "user";
  readonly texts: readonly string[];
  /** Images, as base64. */
  readonly images: readonly string[];
}

/** One answer of a model. Cut off, it may lack the results of its calls. */
export interface ModelStep {
  readonly type: "model";
  /** Which model answered: only what it signed itself may be sent to it again. */
  readonly model: string;
  /** The first stands before everything else, each other one before the next text or call. */
  readonly thoughts: readonly Thought[];
  readonly text: string | undefined;
  readonly calls: readonly HistoryCall[];
}

export interface Thought {
  readonly text: string;
  /** Made by the model; starts with its name. */
  readonly signature: string;
  readonly isRedacted: boolean;
}

export interface HistoryCall {
  readonly id: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Results as they came in: some never do, some twice, some only after the user has spoken again. */
export interface ResultsStep {
  readonly type: "results";
  readonly results: readonly HistoryResult[];
}

export interface HistoryResult {
  readonly callId: string;
  readonly tool: string;
  readonly text: string;
  readonly isError: boolean;
  readonly image: string | undefined;
}

/** What only files of whole sessions hold; a request to a provider has none of it. */
export type FileStep =
  | CompactionStep
  /** Something that the agent writes beside the conversation. */
  | { readonly type: "aside" }
  /** The user goes back so many steps: what came since is left in the file, on another branch. */
  | { readonly type: "rewind"; readonly steps: number };

export interface CompactionStep {
  readonly type: "compaction";
  readonly summary: string;
  /** How many of the newest steps stay beside the summary. */
  readonly kept: number;
}

/** A history of which only the steps matter. */
export function historyOf(steps: readonly Step[]): History {
  return { system: undefined, steps, isThinking: false, cacheMarks: 0 };
}

/** What the user says. */
export function userSays(text: string): UserStep {
  return { type: "user", texts: [text], images: [] };
}

/** A model's answer without a thought. */
export function modelSays(text: string | undefined, calls: readonly HistoryCall[] = []): ModelStep {
  return { type: "model", model: MODELS[0] ?? "", thoughts: [], text, calls };
}

/** The text that one call gave. */
export function resultOf({ id, tool }: HistoryCall, text: string): ResultsStep {
  return { type: "results", results: [{ callId: id, tool, text, isError: false, image: undefined }] };
}

/** The steps as files hold them: answers without anything between them are one message of several blocks. */
export function turnsOf({ steps }: History): readonly Turn[] {
  const turns: Turn[] = [];
  for (const step of steps) {
    const last = turns.at(-1);
    if (step.type !== "model") turns.push(step);
    else if (last?.type === "answer") last.blocks.push(...blocksOf(step));
    else turns.push({ type: "answer", blocks: blocksOf(step) });
  }
  return turns;
}

export type Turn = Exclude<Step, ModelStep> | { readonly type: "answer"; readonly blocks: Block[] };

export type Block =
  | { readonly type: "thought"; readonly text: string }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "call"; readonly call: HistoryCall };

function blocksOf({ thoughts, text, calls }: ModelStep): Block[] {
  const said: readonly Block[] = text === undefined ? [] : [{ type: "text", text }];
  const called = calls.map((call): Block => ({ type: "call", call }));
  return interleave(
    thoughts.map((thought): Block => ({ type: "thought", text: thought.text })),
    [...said, ...called],
  );
}

/** Each thought before what came of it; those of which nothing came stand last. */
export function interleave<Item>(thoughts: readonly Item[], others: readonly Item[]): Item[] {
  const length = Math.max(thoughts.length, others.length);
  return Array.from({ length }, (_, index) => [
    ...thoughts.slice(index, index + 1),
    ...others.slice(index, index + 1),
  ]).flat();
}

/** Takes the results of a history one by one, for files that keep a result with its call. */
export function createResultLookup({ steps }: History): (callId: string) => HistoryResult | undefined {
  const results = steps.flatMap((step) => (step.type === "results" ? step.results : []));
  return (callId) => {
    const index = results.findIndex((result) => result.callId === callId);
    return index === -1 ? undefined : results.splice(index, 1)[0];
  };
}

/** The model that a history ends with, and that is asked next. */
export function askedModel({ steps }: History): string {
  return steps.findLast((step) => step.type === "model")?.model ?? MODELS[0] ?? "";
}

/** The names of the models that take part. */
export const MODELS: readonly string[] = ["north", "south"];

/** The thoughts that the asked model made, so that their signatures may be sent. */
export function ownThoughts(history: History, { thoughts }: ModelStep): readonly Thought[] {
  return thoughts.filter(({ signature }) => isSignedBy(signature, askedModel(history)));
}

/** True when a signature was made by that model. */
export function isSignedBy(signature: string, model: string): boolean {
  return signature.startsWith(`${model}.`);
}

/** A source of numbers that look like chance and are the same for the same seed. */
export interface SeededRandom {
  /** A whole number from 0 to below the limit. */
  below(limit: number): number;
  /** True in so many of a hundred throws. */
  chance(percent: number): boolean;
  /** One of some items. */
  oneOf<Item>(items: readonly Item[]): Item;
}

/** Dice for a seed. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = (seed * 2_654_435_761) >>> 0;

  function below(limit: number): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  return {
    below,
    chance: (percent) => below(100) < percent,
    oneOf: (items) => items[below(items.length)] as (typeof items)[number],
  };
}
