import type { FillSource } from "./fill-source.ts";

/**
 * What makes a line worth its characters, as found on recorded sessions: the logarithm of its value is a sum of
 * these. How they were found, and what was tried beside them, is in docs/decisions/0020-fill.md.
 */
export const FILL_WEIGHTS: FillWeights = {
  source: {
    user: 0,
    agent: 0.2,
    call: 0,
    change: 0.7,
    removed: -2,
    input: 0.2,
    read: 0.3,
    search: -0.6,
    output: 0,
  },
  age: -1.1,
  firstNewName: 2,
  secondNewName: 0.6,
  thirdNewName: 0.3,
  nameTexts: 0.6,
  activity: 0.9,
  activitySquared: -0.12,
  enclosingNames: 2.5,
  fileTouches: 0.4,
  segmentRows: -0.1,
  lineChars: -0.5,
  recent: 2,
  recentLong: 1,
};

export interface FillWeights {
  readonly source: Readonly<Record<FillSource, number>>;
  /** Per logarithm of the results since. */
  readonly age: number;
  /** For names that no newer line has. */
  readonly firstNewName: number;
  readonly secondNewName: number;
  readonly thirdNewName: number;
  /** Per logarithm of the texts that such a name stands in. */
  readonly nameTexts: number;
  /** Per unit of what agent and user wrote lately about the line's words. */
  readonly activity: number;
  readonly activitySquared: number;
  /** For a line whose names, or those of the lines it stands under, were written lately. */
  readonly enclosingNames: number;
  /** Per logarithm of the calls about the same file. */
  readonly fileTouches: number;
  /** Per logarithm of the rows of its segment. */
  readonly segmentRows: number;
  /** Per logarithm of its length. */
  readonly lineChars: number;
  /** For a line of the newest work. */
  readonly recent: number;
  /** For a line of the newest work in a text that is too long to be taken whole. */
  readonly recentLong: number;
}

/** How the budget is shared out. */
export const FILL_SHARES: FillShares = {
  tail: 0.15,
  recent: 0.7,
  words: 0.15,
  longText: 0.25,
  neighbour: 0.8,
  closedGapChars: 60,
};

export interface FillShares {
  /** Of the budget, for the newest messages as they are. */
  readonly tail: number;
  /** Of the budget, up to where work counts as the newest. */
  readonly recent: number;
  /** Of the budget, for what users said and for results that are never cut. */
  readonly words: number;
  /** A text that takes more than this of the room left for the newest work is not taken whole. */
  readonly longText: number;
  /** What a line passes on to the lines beside it. */
  readonly neighbour: number;
  /** A gap that saves less is not made. */
  readonly closedGapChars: number;
}
