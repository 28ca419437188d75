/** The words that the agent's program was started with. */
export interface StartWords {
  readonly words: readonly string[];
  /** False where the system does not tell where one word ends. */
  readonly isExact: boolean;
}

/** The options of a program, as far as a fork has to tell them from the user's text. */
export interface ProgramOptions {
  /** How many words behind an option are its values, by the option's name. */
  readonly values: Readonly<Record<string, OptionValues>>;
  /** The options that a child is started with too. */
  readonly carried: ReadonlySet<string>;
  /** What an option that is not listed may do with a next word that begins with a dash. */
  readonly unlisted: "takes no dash" | "may take any";
}

/** `maybe` is one that does not begin with a dash, or none; of `many` only the first may begin with one. */
export type OptionValues = "nothing" | "maybe" | "one" | "many";

/** The same number of values for each name in a list with blanks between. */
export function optionsWith<Values extends OptionValues>(
  values: Values,
  names: string,
): Readonly<Record<string, Values>> {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, values]));
}

/**
 * What a parent was started with that its child needs, read as the program reads it: the value of an option is never an option,
 * whatever it looks like, and nothing behind `--` is. Undefined where it cannot be told.
 */
export function carriedWords(
  started: StartWords | undefined,
  program: ProgramOptions,
): readonly string[] | undefined {
  if (started === undefined) return undefined;
  const { words, isExact } = started;
  // Where words are cut at every blank, a prompt is not told from options, nor its dashes from the end of them.
  if (!isExact)
    return words.some((word) => program.carried.has(optionIn(word, program.values).name)) ? undefined : [];
  const given = readCommandLine(words, program);
  return given?.options.flatMap((option) => (program.carried.has(option.name) ? option.words : []));
}

/** What a command line gives up to `--`, in its order. */
export interface CommandLine {
  readonly options: readonly GivenOption[];
  /** The words that are neither options nor their values: commands, prompts. */
  readonly operands: readonly string[];
}

export interface GivenOption {
  readonly name: string;
  readonly values: readonly string[];
  /** As it was written, with its values. */
  readonly words: readonly string[];
}

/** A command line as its program reads it; undefined where an option that is not listed may have taken what follows. */
export function readCommandLine(words: readonly string[], program: ProgramOptions): CommandLine | undefined {
  const options: GivenOption[] = [];
  const operands: string[] = [];
  for (let at = 0; at < words.length; ) {
    const word = words[at] ?? "";
    if (word === "--") break;
    if (!isDashed(word)) {
      operands.push(word);
      at += 1;
      continue;
    }
    const { name, takes, attached } = optionIn(word, program.values);
    const behind = attached === undefined ? words.slice(at + 1) : [];
    if (takes === undefined && program.unlisted === "may take any" && isDashed(behind[0] ?? ""))
      return undefined;
    const taken = behind.slice(0, valuesTaken(behind, takes));
    const written = [word, ...taken];
    const values = attached === undefined ? taken : [attached];
    if (takes !== undefined) options.push({ name, values, words: written });
    at += written.length;
  }
  return { options, operands };
}

/** How many of the words behind an option are its values. */
function valuesTaken(words: readonly string[], takes: OptionValues | undefined): number {
  switch (takes) {
    case undefined:
    case "nothing":
      return 0;
    case "maybe":
      return isDashed(words[0] ?? "-?") ? 0 : 1;
    case "one":
      return 1;
    case "many": {
      const end = words.findIndex((word, index) => index > 0 && isDashed(word));
      return end === -1 ? words.length : end;
    }
    default:
      return takes satisfies never;
  }
}

/** The option that a word gives; of several short ones the one that takes the rest of the word, or what follows. */
function optionIn(word: string, values: ProgramOptions["values"]): WrittenOption {
  const takesOf = (name: string) => (Object.hasOwn(values, name) ? values[name] : undefined);
  const whole = takesOf(word);
  if (whole !== undefined) return { name: word, takes: whole };
  if (word.startsWith("--")) {
    const name = nameIn(word);
    if (name === word) return { name, takes: undefined };
    const takes = takesOf(name);
    return { name, takes: takes === "nothing" ? undefined : takes, attached: word.slice(name.length + 1) };
  }
  for (let at = 1; at < word.length; at += 1) {
    const name = `-${word[at]}`;
    const takes = takesOf(name);
    if (takes === "nothing") continue;
    const rest = word.slice(at + 1);
    return rest === "" || takes === undefined ? { name, takes } : { name, takes, attached: rest };
  }
  return { name: word, takes: "nothing" };
}

interface WrittenOption {
  readonly name: string;
  readonly takes: OptionValues | undefined;
  /** The value that stands in the same word. */
  readonly attached?: string;
}

function nameIn(word: string): string {
  return word.split("=", 1)[0] ?? "";
}

/** A dash alone is a value: it stands for what comes on stdin. */
function isDashed(word: string): boolean {
  return word.length > 1 && word.startsWith("-");
}
