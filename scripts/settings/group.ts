/** The options of one function: where they are declared, and what the declaration does not say. */
export interface Group {
  readonly title: string;
  /** Set where only `profile: "documented"` and `carryover/documented` take these. */
  readonly profile?: "documented";
  readonly about: string;
  readonly file: string;
  readonly interface: string;
  /** Interfaces that it extends and whose options are listed with it. */
  readonly inherits?: readonly { readonly file: string; readonly interface: string }[];
  /** Of those, options that cannot be set. */
  readonly omits?: readonly string[];
  /** The defaults as the code has them, by option. */
  readonly defaults?: object;
  /** Those of the documented profile. */
  readonly documented?: object;
  /** What holds for every option that says nothing else. */
  readonly from?: string;
  readonly when?: string;
  readonly unit?: string;
  /** One entry for each option, in any order. */
  readonly notes: Readonly<Record<string, Note>>;
}

/** What is known about an option beside its sentence and its default in the code. */
export interface Note {
  /** In words, where the code has no single value. */
  readonly default?: string;
  readonly documented?: string;
  /** Where its name does not tell. */
  readonly unit?: string;
  /** Where the rule comes from. */
  readonly from?: string;
  /** When to change it. */
  readonly when?: string;
}
