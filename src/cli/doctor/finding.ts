/** One thing that the doctor looked at. */
export interface Finding {
  /** Names the check, for a program. */
  readonly check: string;
  /** `note`: worth knowing; only a `problem` needs something done. */
  readonly level: "ok" | "note" | "problem";
  readonly what: string;
  /** What to do. */
  readonly advice?: string;
}
