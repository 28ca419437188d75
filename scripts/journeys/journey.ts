/** A journey: prepares what it needs, then runs while functions are recorded. Undefined when it cannot run here. */
export type Journey = (tools: JourneyTools) => Promise<readonly RanFunctions[] | undefined>;

export interface JourneyTools {
  /** The project's folder, with a slash at its end. */
  readonly root: string;
  buildPage(folder: string, options: { readonly sourcemap: "hidden" }): Promise<void>;
  recordFunctions(url: string, work: () => Promise<void>): Promise<RanFunctions>;
}

/** Functions of one script and its text; `map` and `base` only where it is another script than the journey's own. */
export interface RanFunctions {
  readonly functions: readonly unknown[];
  readonly source: string;
  readonly map?: unknown;
  readonly base?: string;
}
