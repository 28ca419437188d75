import { type CountedResult, countedResults } from "../compaction/tool-summaries/plan-tool-summaries.ts";
import { inputWindowTokens } from "../compaction/trigger/overflow.ts";
import type { AfterEdit } from "../models/model-row.ts";
import { pendingMarker } from "../stages/boundary.ts";
import type { LostThoughts } from "../stages/cache-plan.ts";
import { FORK_NO_TRUNCATION_TOOLS } from "../stages/tiers.ts";
import { handleOf } from "../transcript/content.ts";
import type { ContextEstimateOptions } from "../transcript/estimate-context.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { estimateOptionsOf, measureOf, type WindowMeasure } from "./measure.ts";
import { factsOf, type KnownLimits, limitsOf, readKnownLimits } from "./model-window.ts";
import type { ResolvedSessionOptions, SessionPorts } from "./options.ts";
import { findLongOutputs, type LongOutputs, protectedOutputs } from "./output-limits.ts";
import type { SessionState } from "./state.ts";
import { bindThoughts, type ThoughtBindings, type ThoughtWindow, thoughtWindowOf } from "./thoughts.ts";
import { windowOf } from "./window.ts";

/** What stays the same while a session lives: its options, and which ports it has. */
export interface SessionSetup {
  readonly options: ResolvedSessionOptions;
  readonly ports: SessionPorts;
}

/** What follows from a state. Each value is computed when it is first asked for, and then kept with the state. */
export interface SessionView extends SessionSetup {
  readonly state: SessionState;
  /** What the model sees. */
  readonly window: ThoughtWindow;
  /** How full the window is, by what, and how sure that is. */
  readonly measure: WindowMeasure;
  /** How a message is estimated. */
  readonly estimate: ContextEstimateOptions;
  /** What is known of the model's window. */
  readonly knownLimits: KnownLimits;
  /** Tool results in the window that count against the cutoff, oldest first. */
  readonly countedResults: readonly CountedResult[];
  /** Outputs that stay whatever goes, oldest first, and those that should have and do not fit. */
  readonly protectedOutputs: ReturnType<typeof protectedOutputs>;
  /** Outputs that came in and are longer than they may be, with their limits. */
  readonly longOutputs: LongOutputs;
  /** What the model that is asked next does about a thought behind an edit. */
  readonly afterEdit: AfterEdit;
  /** The thoughts that an edit before them would cost; undefined where the provider keeps them. */
  readonly thoughtsAtStake: LostThoughts | undefined;
  /** What thoughts are bound to, those included that came since the last edit. */
  readonly bound: ThoughtBindings;
  /** Who asks in the transcript for a compaction that has not happened yet. */
  readonly marker: "none" | "auto" | "manual";
  /** The newest answer shows that the window was exceeded, and nothing was done about that yet. */
  readonly isOverflowSeen: boolean;
  /** Whether the newest usage fills the window. */
  readonly overflow: ReturnType<KnownLimits["overflowOf"]>;
  /** The window is at its limit, by whatever counts. */
  readonly isFull: boolean;
}

/** What follows from a state. */
export function viewOf(state: SessionState, setup: SessionSetup): SessionView {
  const known = views.get(setup) ?? new WeakMap<SessionState, SessionView>();
  views.set(setup, known);
  const before = known.get(state);
  if (before !== undefined) return before;
  const view = new DerivedView(state, setup);
  known.set(state, view);
  return view;
}

const views = new WeakMap<SessionSetup, WeakMap<SessionState, SessionView>>();

/** Gives each value when it is asked for, and only then computes it. */
class DerivedView implements SessionView {
  readonly state: SessionState;
  readonly setup: SessionSetup;
  readonly options: ResolvedSessionOptions;
  readonly ports: SessionPorts;
  readonly #known = new Map<string, unknown>();

  constructor(state: SessionState, setup: SessionSetup) {
    this.state = state;
    this.setup = setup;
    this.options = setup.options;
    this.ports = setup.ports;
  }

  #once<Value>(name: string, compute: () => Value): Value {
    if (!this.#known.has(name)) this.#known.set(name, compute());
    return this.#known.get(name) as Value;
  }

  get afterEdit(): AfterEdit {
    const { thoughts, model } = this.state;
    // Whoever does not say which model is asked may well ask one that refuses them.
    if (thoughts.refused || model === undefined) return "refused";
    return factsOf(this.state, this.options).afterEdit;
  }

  get window(): ThoughtWindow {
    const { history, thoughts } = this.state;
    return this.#once("window", () =>
      thoughtWindowOf(windowOf(history.transcript), { bindings: thoughts, afterEdit: this.afterEdit }),
    );
  }

  get measure(): WindowMeasure {
    return this.#once("measure", () =>
      measureOf(this.window, this.state.measure, measuredBy(this.state, this.options)),
    );
  }

  get estimate(): ContextEstimateOptions {
    return this.#once("estimate", () =>
      estimateOptionsOf(this.state.measure, measuredBy(this.state, this.options)),
    );
  }

  get knownLimits(): KnownLimits {
    return this.#once("knownLimits", () =>
      readKnownLimits(this.state, this.options, this.measure.overheadTokens),
    );
  }

  get countedResults(): readonly CountedResult[] {
    return this.#once("results", () => {
      const { pins = [] } = this.options;
      const held = new Set(this.protectedOutputs.kept);
      const exempt = { protectedTools: FORK_NO_TRUNCATION_TOOLS, pins };
      return countedResults(this.window.marked, exempt).filter(
        ({ message, partIndex }) => !held.has(handleOf(message, partIndex)),
      );
    });
  }

  get protectedOutputs(): ReturnType<typeof protectedOutputs> {
    return this.#once("protectedOutputs", () =>
      protectedOutputs(
        this.window.marked,
        this.options,
        this.options.keptTools.length && this.knownLimits.roomTokens,
      ),
    );
  }

  get longOutputs(): LongOutputs {
    return this.#once("longOutputs", () =>
      findLongOutputs(this.window.marked, this.options, this.knownLimits.roomTokens),
    );
  }

  get thoughtsAtStake(): LostThoughts | undefined {
    return this.#once("thoughts", () => {
      if (this.afterEdit === "kept") return undefined;
      const { stale, before } = this.window.thoughts;
      const newest = new Set([...before.keys()].filter((id) => !stale.has(id)).slice(-THOUGHTS_TO_REPEAT));
      const { input, output } = this.knownLimits.facts.prices ?? USUAL_PRICES;
      return {
        tokensOf: (message: Message) => (newest.has(message.id) ? thoughtTokensOf(message) : 0),
        multiplier: output / input,
      };
    });
  }

  get bound(): ThoughtBindings {
    const { thoughts, history } = this.state;
    return this.#once("bound", () =>
      bindThoughts(thoughts, { reading: this.window.thoughts, source: history.messages }),
    );
  }

  get marker(): "none" | "auto" | "manual" {
    return markerOf(this.state.history.transcript);
  }

  get isOverflowSeen(): boolean {
    const { isOverflow, messageId } = this.measure.silent;
    return isOverflow && this.options.overflow?.auto !== false && messageId !== this.state.dealtWith;
  }

  get overflow(): ReturnType<KnownLimits["overflowOf"]> {
    return this.#once("overflow", () => this.knownLimits.overflowOf(this.measure.newestStep?.usage));
  }

  get isFull(): boolean {
    const { limitTokens = Number.POSITIVE_INFINITY } = this.knownLimits.tokenLimit;
    return this.measure.tokens >= limitTokens || this.isOverflowSeen || this.overflow.overflow;
  }
}

const markers = new WeakMap<Transcript, SessionView["marker"]>();

/** Looked for in all of a long transcript, so only once in each. */
function markerOf(transcript: Transcript): SessionView["marker"] {
  const known = markers.get(transcript) ?? pendingMarker(transcript)?.trigger ?? "none";
  markers.set(transcript, known);
  return known;
}

function measuredBy(state: SessionState, options: ResolvedSessionOptions): Parameters<typeof measureOf>[2] {
  const { contextTokens } = limitsOf(state, options);
  return { estimator: options.estimator, model: state.model, contextWindowTokens: contextTokens };
}

/** What a state is measured by. */
export function factsToMeasure({
  state,
  options,
}: Pick<SessionView, "state" | "options">): Parameters<typeof measureOf>[2] {
  return measuredBy(state, options);
}

/**
 * True while the model still takes the window: by estimate, with a part of what is reserved left for its answer. A window
 * that is not known fits until the provider says otherwise.
 */
export function fitsModel({ isOverflowSeen, knownLimits, measure }: SessionView): boolean {
  if (isOverflowSeen) return false;
  const windowTokens = inputWindowTokens(knownLimits.estimateLimits);
  if (windowTokens === 0) return true;
  const { limitTokens = windowTokens } = knownLimits.tokenLimit;
  const reservedTokens = Math.max(0, windowTokens - limitTokens);
  return measure.tokens <= windowTokens - reservedTokens * ANSWER_SHARE;
}

/** How much of the reserve an answer needs at least. */
const ANSWER_SHARE = 0.25;

/** Where a model's prices are not known: of output and input at most providers. */
const USUAL_PRICES = { input: 1, output: 5 };

/** What a message's thoughts took to think; their text is often not in it. */
function thoughtTokensOf({ usage }: Message): number {
  return usage?.reasoningTokens || USUAL_THOUGHT_TOKENS;
}

/** The mean of recorded requests. */
const USUAL_THOUGHT_TOKENS = 350;
/** What a model has to think again to go on: older thoughts have become answers. */
const THOUGHTS_TO_REPEAT = 10;
