/** A conversation that no provider has seen yet: what happened, in the order in which a client stores it. */
export interface History {
  readonly system: string | undefined;
  readonly steps: readonly Step[];
  /** Whether the client asks the model to think. */
  readonly isThinking: boolean;
  /** How many of the newest messages of the user the client marks to be cached; some mark more than the provider takes. */
  readonly cacheMarks: number;
}

export type Step = UserStep | ModelStep | ResultsStep;

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
  readonly thought: Thought | undefined;
  readonly text: string | undefined;
  readonly calls: readonly HistoryCall[];
}

export interface Thought {
  readonly text: string;
  /** Made by the model; starts with its name. */
  readonly seal: string;
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

/** The model that a history ends with, and that is asked next. */
export function askedModel({ steps }: History): string {
  return steps.findLast((step) => step.type === "model")?.model ?? MODELS[0] ?? "";
}

/** The names of the models that take part. */
export const MODELS: readonly string[] = ["north", "south"];

/** True when the asked model made this thought, so that its seal may be sent. */
export function isOwnThought(history: History, thought: Thought | undefined): thought is Thought {
  return thought !== undefined && isSignedBy(thought.seal, askedModel(history));
}

/** True when a seal was made by that model. */
export function isSignedBy(seal: string, model: string): boolean {
  return seal.startsWith(`${model}.`);
}
