import { omitUndefined } from "../../text/unknown-value.ts";

/** An error text as the rules read it: lower case, no quotes, no addresses, single spaces. */
export function errorWords(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/https?:\/\/\S+/g, " ")
    .replace(/\\+[nrt]/g, " ")
    .replace(/[`'"‘’“”*\\]/g, "")
    .replace(/\s+/g, " ")
    .replace(/\binput (?=validation\b|should be\b)/g, "")
    .trim();
}

/** A machine code as words: `ContextWindowExceededError` and `context_window_exceeded` read alike. */
export function codeWords(code: string): string {
  return code
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/[_\-./:#]+/g, " ")
    .replace(/\s+/g, " ")
    .toLowerCase()
    .trim();
}

/** The sentences of a text, so that the subject of one is not read with the verb of another. */
export function splitSentences(words: string): readonly string[] {
  return words.split(/[.;!?](?:\s+|$)|[。；！？\n]|\s[-–—|]\s/).filter((sentence) => sentence !== "");
}

/** One pattern that matches wherever one of the given ones does, so that a rule reads as a list of wordings. */
export function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map((pattern) => `(?:${pattern.source})`).join("|"));
}

/**
 * The token counts that an error text gives: what was sent, what the model takes, and how the sent part
 * splits into input and reserved output. A figure that cannot be told apart is left out.
 */
export function readTokenFigures(words: string): TokenFigures {
  const figures = numbersIn(
    words
      .replace(/^\W{0,3}[1-5]\d\d\b/, "")
      .replace(/\(parameter=[^)]*\)*/g, " ")
      .replace(/\[ ?\d+ ?, ?(\d+) ?\]/g, " maximum $1 "),
  );
  const tokensOf = (...roles: readonly Role[]): readonly number[] =>
    figures.filter((figure) => roles.includes(figure.role)).map((figure) => figure.tokens);

  const inputTokens = sumDistinct(tokensOf("input"));
  const outputTokens = tokensOf("output")[0];
  const loose = [...new Set(tokensOf("unknown"))].filter((tokens) => tokens >= MIN_LOOSE_TOKENS);
  let limitTokens = tokensOf("limit").find((tokens) => tokens >= MIN_LIMIT_TOKENS);
  let observedTokens = tokensOf("total")[0] ?? inputTokens ?? tokensOf("observed")[0];

  const limits = [...new Set(tokensOf("limit"))];
  if (observedTokens === undefined && limits.length === 2 && outputTokens === undefined) {
    limitTokens = Math.min(...limits);
    observedTokens = Math.max(...limits);
  }
  // What was sent is larger than what fits, so of two remaining figures the larger one was sent.
  if (limitTokens === undefined && observedTokens === undefined && loose.length === 2) {
    limitTokens = Math.min(...loose);
    observedTokens = Math.max(...loose);
  } else if (loose.length === 1 && limitTokens === undefined && observedTokens !== undefined) {
    limitTokens = loose[0];
  } else if (loose.length === 1 && observedTokens === undefined && limitTokens !== undefined) {
    observedTokens = loose[0];
  }
  return omitUndefined({ observedTokens, limitTokens, inputTokens, outputTokens });
}

export interface TokenFigures {
  /** What the request came to, as the provider counted it. */
  readonly observedTokens?: number;
  readonly limitTokens?: number;
  readonly inputTokens?: number;
  /** What the request wanted kept free for the answer. */
  readonly outputTokens?: number;
}

/** Smaller limits are ignored: no model has one, but servers have reported them. */
const MIN_LIMIT_TOKENS = 64;
const MIN_LOOSE_TOKENS = 100;
const MAX_FIGURES = 24;
const CONTEXT_CHARS = 56;

type Role = "limit" | "total" | "observed" | "input" | "output" | "ignored" | "unknown";

interface Figure {
  readonly tokens: number;
  readonly role: Role;
}

const FIGURE = /(?<![\w.$#-])(\d{1,3}(?:[,_]\d{3})+|\d+(?:\.\d+)?)( ?[km](?![a-z]))?(?![\w-]|\.\d)/g;

function numbersIn(words: string): readonly Figure[] {
  const matches = [...words.matchAll(FIGURE)].slice(0, MAX_FIGURES);
  return matches.map((match, index) => {
    const previous = matches[index - 1];
    const floor = previous === undefined ? 0 : previous.index + previous[0].length;
    const end = match.index + match[0].length;
    const before = words.slice(Math.max(floor, match.index - CONTEXT_CHARS), match.index);
    const after = words.slice(end, Math.min(matches[index + 1]?.index ?? words.length, end + CONTEXT_CHARS));
    return { tokens: parseTokens(match), role: roleOf(before, after) };
  });
}

function sumDistinct(counts: readonly number[]): number | undefined {
  // Wrappers repeat a text, so equal counts are counted once.
  return counts.length === 0 ? undefined : [...new Set(counts)].reduce((total, count) => total + count, 0);
}

function parseTokens([, digits = "", scale = ""]: RegExpMatchArray): number {
  const value = Number(digits.replaceAll(/[,_]/g, ""));
  return Math.round(value * (scale.trim() === "k" ? 1_000 : scale.trim() === "m" ? 1_000_000 : 1));
}

function roleOf(before: string, after: string): Role {
  for (const [role, beforeRule, afterRule] of ROLES) {
    if (beforeRule?.test(before) || afterRule?.test(after)) return role;
  }
  return "unknown";
}

/** A cue, any of the words that may follow it, and then the figure. */
function leadsTo(cues: RegExp, between: RegExp): RegExp {
  return new RegExp(`(?:${cues.source})(?:[ :=(]+(?:${between.source}))*[ :=(]*$`);
}

const LIMIT_CUES = anyOf(
  /\bmax(?:imum)?|\bmax_\w+|\blimit(?:ed)?|\ballowed|\bcapacity|\bwindow|\bcontext|_ctx/,
  /\bsupports?(?: up)?|\bup|\bonly(?: handle| process| accept)?|\bat most|\bno more than/,
  /\b(?:less|fewer|longer|larger|greater|more|bigger|higher) than|\bexceed(?:s|ed|ing)?|\bover|<=?|>=?|≤/,
);
const LIMIT_BETWEEN = anyOf(
  /is|of|to|the|just|only|for|this|a|an|at|set|currently|allowed|number|total|configured|available|supported/,
  /model|model_len|tokens?|length|size|window|context|prompt|input|sequence|limit|maximum|max|requests?|endpoint/,
);
const SENT_CUES = anyOf(
  /\bcontains?|\bhas|\bhave|\bgiven|\bgot|\breceived|\bsupplied|\bprovided|\bpassed|\bsent|\bfound|\bused/,
  /\bcount|\blength|\bactual|\btotal|\bkeep the first|\bn_keep|\btoo (?:long|large|many tokens)/,
  /\bprompt|\binputs?|\brequest|\bmessages?|实际|当前|目前|输入|共/,
);
const SENT_BETWEEN =
  /is|of|at|least|about|approximately|around|tokens?|length|count|a|total|has|with|currently|now|the|number|size/;

const OUTPUT_PARAMETER = /max_(?:new_|completion_|output_)?tokens/;

/** Tried in order: what stands before a figure, then what stands behind it. */
const ROLES: readonly (readonly [Role, RegExp | undefined, RegExp | undefined])[] = [
  [
    "ignored",
    anyOf(
      /(?:error|status|http|line|column|char|code|version|minimum|least one|index|position)[ :=#(<[]*$/,
      /\bby (?:about )?$|exceeds limit \($|total of at least $|\[$/,
    ),
    anyOf(
      /^\s*(?:bytes?|[kmg]i?b\b|characters?|chars?\b|seconds?|ms\b|images?|messages?\b(?! tok))/,
      /^\s*status code|^\s*tokens? (?:over|above|beyond|too many|in excess)/,
    ),
  ],
  ["total", /input and (?:maximum |max )?output tokens[ :=(]*$/, undefined],
  [
    "output",
    new RegExp(
      `(?:${OUTPUT_PARAMETER.source}|output tokens|generation length|generating|completion(?: tokens)?|\\+)[ :=(]*(?:is too large|is|of)?[ :=(]*$`,
    ),
    anyOf(
      /^\s*(?:tokens? )?(?:in|for|from|as) (?:the |your )?(?:completion|output|response|generation)/,
      /^\s*(?:requested )?(?:output|completion|new|draft|generated|response) tokens?|^\s*(?:tokens? )?of output/,
      new RegExp(`^\\s*(?:tokens? )?${OUTPUT_PARAMETER.source}`),
    ),
  ],
  [
    "total",
    leadsTo(
      /\brequested|\bresulted in|\bfor a total of|\bwill take|\brequires(?: a sequence length of)?/,
      /a total of|about|approximately/,
    ),
    /^\s*tokens? (?:were |was )?(?:requested|in total)/,
  ],
  [
    "input",
    undefined,
    anyOf(
      /^\s*(?:tokens? )?(?:in|from|of) (?:the |your )?(?:input |text |tool |image |audio |file )?(?:messages?|prompt|inputs?|functions?|tools?|text)\b/,
      /^\s*(?:of )?(?:text |prompt )?inputs? tokens?\b|^\s*prompt tokens?\b|^\s*(?:tokens? ?)?\)? ?\+/,
    ),
  ],
  [
    "observed",
    undefined,
    anyOf(
      /^\s*(?:input )?(?:tokens?)?\)? ?(?:>=?|exceeds?\b|has exceeded|cannot exceed)/,
      /^\s*(?:input )?(?:tokens?)?\)? ?(?:which )?is (?:longer|larger|greater|more) than|^\s*(?:tokens?)?\)? ?which (?:exceeds|is over)/,
    ),
  ],
  [
    "limit",
    anyOf(
      leadsTo(LIMIT_CUES, LIMIT_BETWEEN),
      /(?:context|window|sequence|model) (?:length|size|limit|window)[ :=(]*(?:is|of|only)*[ :=(]*$/,
      /(?:上限|限制)(?:为|是|：|:)? ?$|最大[^\d]{0,12}$/,
    ),
    /^\s*(?:tokens? )?(?:maximum|max\b|allowed\b|(?:token )?limit\b|token (?:context|window)|context (?:length|window))/,
  ],
  [
    "observed",
    leadsTo(SENT_CUES, SENT_BETWEEN),
    /^\s*(?:input )?(?:tokens?)?\)? ?(?:exceeded|is too|which is|but\b|超)/,
  ],
];
