import { isObject, type UnknownObject } from "./unknown-value.ts";

/** Thrown when options cannot be used; lists every problem at once. */
export class ConfigurationError extends Error {
  readonly code = "CARRYOVER_CONFIGURATION" as const;
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`Cannot use these settings: ${problems.join("; ")}`);
    this.name = "ConfigurationError";
    this.problems = problems;
  }
}

/** What a value may be. */
export interface Rule {
  /** Completes the sentence "… is 5; give …". */
  readonly expects: string;
  /** Set where a key must be given: `required`. */
  readonly isRequired?: true;
  /** Set where a key is no option, and what to give instead is known: `gone`. */
  readonly isGone?: true;
  /** The keys of the object that it allows, for whoever lists or counts options. */
  readonly shape?: Rules;
  /** Everything wrong with a value; empty when it can be used. */
  find(value: unknown, path: readonly string[]): readonly Problem[];
}

/** A rule for values of one type, and what counts where none is given. */
export interface RuleFor<Value> extends Rule {
  readonly default?: Value;
  /** Never set: with it the compiler refuses a rule for other values than the option has. */
  readonly type?: (value: Value) => Value;
}

/**
 * The options of an interface: of each its rule, and of those in `Defaulted` the default, which is written here and nowhere
 * else. An unset or `undefined` value is a problem only where its rule is `required`.
 */
export type Shape<Options, Defaulted extends keyof Options = never> = {
  readonly [Key in keyof Options]-?: RuleFor<Exclude<Options[Key], undefined>>;
} & { readonly [Key in Defaulted]: { readonly default: Exclude<Options[Key], undefined> } };

/** The values that count where none are given. */
export type Defaults<Options, Defaulted extends keyof Options> = {
  readonly [Key in Defaulted]-?: Exclude<Options[Key], undefined>;
};

/** Options that were read: those with a default are set. */
export type Completed<Options, Defaulted extends keyof Options> = Options & Defaults<Options, Defaulted>;

/** The rules of an object by key. */
export type Rules = Readonly<Record<string, Rule & { readonly default?: unknown }>>;

/** What is wrong with one value, as a sentence that says what to give instead. */
export interface Problem {
  readonly path: readonly string[];
  readonly text: string;
}

/** Everything that is wrong with options, unknown and missing keys included; empty when they can be used. */
export function check(shape: Rules, value: unknown, path: readonly string[] = []): readonly Problem[] {
  if (!isObject(value))
    return [problem(path, `${path.length === 0 ? "the options are" : "is"} ${show(value)}; give an object`)];
  const missing = Object.entries(shape).filter(([key, rule]) => rule.isRequired && !isGiven(value, key));
  const found = entriesOf(value, path, ([key, item]) => {
    const at = [...path, key];
    const rule = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (rule === undefined) return [problem(at, `is not an option; ${nearest(key, acceptedKeys(shape))}`)];
    return item === undefined ? [] : rule.find(item, at);
  });
  return [
    ...missing.map(([key, { expects }]) => problem([...path, key], `is missing; give ${expects}`)),
    ...found,
  ];
}

/** The keys of a shape that may be given. */
export function acceptedKeys(shape: Rules): readonly string[] {
  return Object.keys(shape).filter((key) => !shape[key]?.isGone);
}

function isGiven(value: UnknownObject, key: string): boolean {
  try {
    return value[key] !== undefined;
  } catch {
    // A getter that throws is a problem of its own.
    return true;
  }
}

/** What a function takes for options that are not given: one object, which needs no check. */
export const NO_OPTIONS: Readonly<Record<never, never>> = Object.freeze({});

/**
 * A check of options that throws one error with every problem. Options that can be used cost a look at each key and
 * nothing else, since functions that are called in loops check theirs, too.
 */
// Annotated as pure, like every function that makes a rule or a check, so that bundlers leave unused ones out.
/* @__NO_SIDE_EFFECTS__ */
export function optionsCheck(shape: Rules, path: readonly string[] = []): (options: unknown) => void {
  const requiredKeys = Object.keys(shape).filter((key) => shape[key]?.isRequired);
  return (options) => {
    if (options === NO_OPTIONS || isUsable(shape, requiredKeys, options)) return;
    throwProblems(check(shape, options ?? {}, path));
  };
}

function isUsable(shape: Rules, requiredKeys: readonly string[], options: unknown): boolean {
  try {
    if (options === undefined) return requiredKeys.length === 0;
    if (!isObject(options)) return false;
    for (const key of requiredKeys) if (options[key] === undefined) return false;
    for (const key in options) {
      const value = options[key];
      const rule = Object.hasOwn(shape, key) ? shape[key] : undefined;
      if (rule === undefined || (value !== undefined && rule.find(value, NO_PATH).length > 0)) return false;
    }
    return true;
  } catch {
    // A getter throws: the check says so.
    return false;
  }
}

const NO_PATH: readonly string[] = [];
const NO_PROBLEMS: readonly Problem[] = [];

/** Throws one error with every problem, if there is one. */
export function throwProblems(problems: readonly Problem[]): void {
  if (problems.length > 0) throw new ConfigurationError(problems.map(({ text }) => text));
}

/** The options completed with the defaults of their shape; throws one error that lists every problem. */
export function readOptions<Options extends object, Defaulted extends keyof Options = never>(
  shape: Shape<Options, Defaulted>,
  value: unknown = {},
): Completed<Options, Defaulted> {
  throwProblems(check(shape as Rules, value));
  const given = Object.entries(value as object).filter(([, item]) => item !== undefined);
  return { ...defaultsOf(shape), ...Object.fromEntries(given) } as Completed<Options, Defaulted>;
}

/** What counts where nothing is given. */
/* @__NO_SIDE_EFFECTS__ */
export function defaultsOf<Options, Defaulted extends keyof Options = never>(
  shape: Shape<Options, Defaulted>,
): Defaults<Options, Defaulted> {
  const known = Object.entries(shape as Rules).filter(([, rule]) => rule.default !== undefined);
  return Object.fromEntries(known.map(([key, rule]) => [key, rule.default])) as Defaults<Options, Defaulted>;
}

/** The same rule for an option that counts as `value` where it is not given. */
/* @__NO_SIDE_EFFECTS__ */
export function withDefault<Value>(
  rule: RuleFor<Value>,
  value: NoInfer<Value>,
): RuleFor<Value> & { readonly default: Value } {
  return { ...rule, default: value };
}

/** A rule from a sentence and a test. */
/* @__NO_SIDE_EFFECTS__ */
export function rule(expects: string, allows: (value: unknown) => boolean): Rule {
  return {
    expects,
    find: (value, path) => {
      try {
        if (allows(value)) return NO_PROBLEMS;
      } catch {
        // A getter or a proxy that throws: such a value cannot be used.
      }
      return [problem(path, `is ${show(value)}; give ${expects}`)];
    },
  };
}

export const anything: Rule = rule("anything", () => true);
export const text: RuleFor<string> = rule("a text", (value) => typeof value === "string" && value !== "");
/** A text that may be empty. */
export const anyText: RuleFor<string> = rule("a text", (value) => typeof value === "string");
/** A measured number, which may be none. */
export const aNumber: RuleFor<number> = rule("a number", (value) => typeof value === "number");
/** A measured size or time, which may be none: what is not a number counts as unknown. */
export const aMeasure: RuleFor<number> = rule(
  "a number of 0 or more",
  (value) => typeof value === "number" && !(value < 0),
);
export const flag: RuleFor<boolean> = rule("true or false", (value) => typeof value === "boolean");
export const callback: Rule = rule("a function", (value) => typeof value === "function");
/** What ends a call early. */
export const abortSignal: Rule = rule("an AbortSignal", (value) => isObject(value) && "aborted" in value);

/** The same rule for a key that must be given. */
/* @__NO_SIDE_EFFECTS__ */
export function required<Value>(rule: RuleFor<Value>): RuleFor<Value> {
  return { ...rule, isRequired: true };
}

/** Rules that refuse keys which are no options, each with what to give instead. */
/* @__NO_SIDE_EFFECTS__ */
export function gone<Key extends string>(advice: Readonly<Record<Key, string>>): Readonly<Record<Key, Rule>> {
  const rules = Object.entries<string>(advice).map(([key, instead]) => [key, goneRule(instead)]);
  return Object.fromEntries(rules) as Record<Key, Rule>;
}

/** The same for an object: keys of it that were options are refused with their own advice. */
/* @__NO_SIDE_EFFECTS__ */
export function goneRule(instead: string, advice: Readonly<Record<string, string>> = {}): Rule {
  return {
    expects: instead,
    isGone: true,
    find: (value, path) => {
      const inside = isObject(value)
        ? entriesOf(value, path, ([key]) =>
            refusal([...path, key], Object.hasOwn(advice, key) ? advice[key] : undefined),
          )
        : [];
      return inside.length > 0 ? inside : refusal(path, instead);
    },
  };
}

function refusal(path: readonly string[], instead: string | undefined): readonly Problem[] {
  return instead === undefined ? NO_PROBLEMS : [problem(path, `is not an option; ${instead}`)];
}

/** An object with these functions, as a port is; it may have more. */
/* @__NO_SIDE_EFFECTS__ */
export function methods(...names: readonly string[]): Rule {
  return rule(`an object with the functions ${names.join(" and ")}`, (value) =>
    names.every((name) => isObject(value) && typeof value[name] === "function"),
  );
}

/** One of these words. */
/* @__NO_SIDE_EFFECTS__ */
export function oneOf<Word extends string>(...words: readonly Word[]): RuleFor<Word> {
  return rule(words.map((word) => JSON.stringify(word)).join(" or "), (value) =>
    words.some((word) => word === value),
  );
}

/** The same rule, which answers a word that was renamed with the new one. */
/* @__NO_SIDE_EFFECTS__ */
export function renamedWords<Words extends Rule>(
  words: Words,
  renamed: Readonly<Record<string, string>>,
): Words {
  return {
    ...words,
    find: (value, path) =>
      typeof value === "string" && Object.hasOwn(renamed, value)
        ? [problem(path, `is ${show(value)}, which is now called ${show(renamed[value])}`)]
        : words.find(value, path),
  };
}

/** A number of at least `least`; `Infinity` too, which means that nothing is cut. */
/* @__NO_SIDE_EFFECTS__ */
export function limitFrom(least: number): RuleFor<number> {
  return rule(`a number of ${least} or more`, (value) => typeof value === "number" && value >= least);
}

/** A finite number of at least `least`. */
/* @__NO_SIDE_EFFECTS__ */
export function numberFrom(least: number): RuleFor<number> {
  return rule(
    `a number of ${least} or more`,
    (value) => Number.isFinite(value) && (value as number) >= least,
  );
}

/** A finite number greater than `bound`. */
/* @__NO_SIDE_EFFECTS__ */
export function numberAbove(bound: number): RuleFor<number> {
  return rule(`a number above ${bound}`, (value) => Number.isFinite(value) && (value as number) > bound);
}

/** A whole number of at least `least`. */
/* @__NO_SIDE_EFFECTS__ */
export function wholeFrom(least: number): RuleFor<number> {
  return rule(
    `a whole number of ${least} or more`,
    (value) => Number.isSafeInteger(value) && (value as number) >= least,
  );
}

/** An object with these keys and no others. */
/* @__NO_SIDE_EFFECTS__ */
export function objectOf(shape: Rules): Rule {
  return { expects: "an object", shape, find: (value, path) => check(shape, value, path) };
}

/** A list whose items all keep the rule. */
/* @__NO_SIDE_EFFECTS__ */
export function listOf<Item>(item: RuleFor<Item>): RuleFor<readonly Item[]> {
  return {
    expects: `a list, each item ${item.expects}`,
    ...shapeOf(item),
    find: (value, path) =>
      Array.isArray(value)
        ? value.flatMap((each, index) => item.find(each, [...path, String(index)]))
        : [problem(path, `is ${show(value)}; give a list, each item ${item.expects}`)],
  };
}

/** An object used as a map: every key keeps the pattern, every value the rule. */
/* @__NO_SIDE_EFFECTS__ */
export function recordOf(key: { readonly expects: string; readonly pattern: RegExp }, item: Rule): Rule {
  return {
    expects: `an object by ${key.expects}`,
    ...shapeOf(item),
    find: (value, path) => {
      if (!isObject(value)) return [problem(path, `is ${show(value)}; give an object by ${key.expects}`)];
      return entriesOf(value, path, ([name, each]) => {
        const at = [...path, name];
        return key.pattern.test(name)
          ? item.find(each, at)
          : [problem(at, `is no ${key.expects}; name it by ${key.expects}`)];
      });
    },
  };
}

/** The first rule or the second; where both refuse, the problems are those of the rule that fits the kind of the value. */
/* @__NO_SIDE_EFFECTS__ */
export function either<First, Second>(
  first: RuleFor<First>,
  second: RuleFor<Second>,
): RuleFor<First | Second> {
  const expects = second.isGone ? first.expects : `${first.expects}, or ${second.expects}`;
  return {
    expects,
    ...shapeOf(first),
    ...shapeOf(second),
    find: (value, path) => {
      if (first.find(value, path).length === 0) return NO_PROBLEMS;
      const problems = second.find(value, path);
      if (problems.length === 0) return NO_PROBLEMS;
      const isInside = problems.every((each) => each.path.length > path.length);
      return isInside ? problems : [problem(path, `is ${show(value)}; give ${expects}`)];
    },
  };
}

function shapeOf({ shape, isGone }: Rule): Pick<Rule, "shape"> {
  return shape === undefined || isGone ? {} : { shape };
}

/** A value in a few words, for an error message. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "function" ? "a function" : String(value);
}

function problem(path: readonly string[], text: string): Problem {
  const names = path.map((key) => (key.length <= MAX_KEY_CHARS ? key : `${key.slice(0, MAX_KEY_CHARS)}...`));
  return { path, text: path.length === 0 ? text : `${names.join(".")} ${text}` };
}

const MAX_KEY_CHARS = 60;

/** The problems of every entry; an object with a getter that throws is a problem itself. */
function entriesOf(
  value: UnknownObject,
  path: readonly string[],
  find: (entry: readonly [key: string, item: unknown]) => readonly Problem[],
): readonly Problem[] {
  let entries: readonly (readonly [string, unknown])[];
  try {
    entries = Object.entries(value);
  } catch {
    return [problem(path, `${path.length === 0 ? "the options " : ""}cannot be read; give a plain object`)];
  }
  return entries.flatMap(find);
}

/** The known name that a mistyped one most likely meant, or all of them. */
export function nearest(key: string, known: readonly string[]): string {
  const ranked = known.map((name) => ({
    name,
    distance: editDistance(key.slice(0, 40).toLowerCase(), name.toLowerCase()),
  }));
  const [best] = ranked.sort((one, other) => one.distance - other.distance);
  return best !== undefined && best.distance <= Math.max(1, Math.floor(best.name.length / 3))
    ? `did you mean ${best.name}?`
    : `known are ${known.join(", ")}`;
}

function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
