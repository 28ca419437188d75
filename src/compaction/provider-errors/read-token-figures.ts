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

  const inputTokens = sum(tokensOf("input"));
  const outputTokens = tokensOf("output")[0];
  const loose = [...new Set(tokensOf("unknown"))].filter((tokens) => tokens >= MIN_LOOSE_TOKENS);
  let limitTokens = tokensOf("limit").find((tokens) => tokens >= MIN_LIMIT_TOKENS);
  let observedTokens = tokensOf("total")[0] ?? inputTokens ?? tokensOf("observed")[0];

  const limits = [...new Set(tokensOf("limit"))];
  if (observedTokens === undefined && limits.length === 2 && outputTokens === undefined) {
    limitTokens = Math.min(...limits);
    observedTokens = Math.max(...limits);
  }
  // What was sent is more than what fits, so two figures that are left tell themselves apart.
  if (limitTokens === undefined && observedTokens === undefined && loose.length === 2) {
    limitTokens = Math.min(...loose);
    observedTokens = Math.max(...loose);
  } else if (loose.length === 1 && limitTokens === undefined && observedTokens !== undefined) {
    limitTokens = loose[0];
  } else if (loose.length === 1 && observedTokens === undefined && limitTokens !== undefined) {
    observedTokens = loose[0];
  }
  if (
    outputTokens === undefined &&
    limitTokens !== undefined &&
    observedTokens !== undefined &&
    observedTokens >= MIN_LIMIT_TOKENS &&
    observedTokens < limitTokens
  ) {
    [limitTokens, observedTokens] = [observedTokens, limitTokens];
  }
  return {
    ...(observedTokens === undefined ? {} : { observedTokens }),
    ...(limitTokens === undefined ? {} : { limitTokens }),
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
  };
}

export interface TokenFigures {
  /** What the request came to, as the provider counted it. */
  readonly observedTokens?: number;
  readonly limitTokens?: number;
  readonly inputTokens?: number;
  /** What the request wanted kept free for the answer. */
  readonly outputTokens?: number;
}

/** No model has a smaller window; servers have been seen to report one. */
const MIN_LIMIT_TOKENS = 64;
const MIN_LOOSE_TOKENS = 100;
const MAX_FIGURES = 24;
const CONTEXT_CHARS = 56;

type Role = "limit" | "total" | "observed" | "input" | "output" | "ignored" | "unknown";

interface Figure {
  readonly tokens: number;
  readonly role: Role;
}

const NUMBER = /(?<![\w.$#-])(\d{1,3}(?:[,_]\d{3})+|\d+(?:\.\d+)?)( ?[km](?![a-z]))?(?![\w-]|\.\d)/g;

function numbersIn(words: string): readonly Figure[] {
  const matches = [...words.matchAll(NUMBER)].slice(0, MAX_FIGURES);
  return matches.map((match, index) => {
    const previous = matches[index - 1];
    const floor = previous === undefined ? 0 : previous.index + previous[0].length;
    const end = match.index + match[0].length;
    const before = words.slice(Math.max(floor, match.index - CONTEXT_CHARS), match.index);
    const after = words.slice(end, Math.min(matches[index + 1]?.index ?? words.length, end + CONTEXT_CHARS));
    return { tokens: tokensOf(match), role: roleOf(before, after) };
  });
}

function sum(counts: readonly number[]): number | undefined {
  // Wrappers repeat a text: a count that comes twice is one count.
  return counts.length === 0 ? undefined : [...new Set(counts)].reduce((total, count) => total + count, 0);
}

function tokensOf([, digits = "", scale = ""]: RegExpMatchArray): number {
  const value = Number(digits.replaceAll(/[,_]/g, ""));
  return Math.round(value * (scale.trim() === "k" ? 1_000 : scale.trim() === "m" ? 1_000_000 : 1));
}

function roleOf(before: string, after: string): Role {
  for (const [role, beforeRule, afterRule] of ROLES) {
    if (beforeRule?.test(before) || afterRule?.test(after)) return role;
  }
  return "unknown";
}

/** Tried in order; the text before a figure is matched at its end, the text behind at its beginning. */
const ROLES: readonly (readonly [Role, RegExp | undefined, RegExp | undefined])[] = [
  [
    "ignored",
    /(?:\bby (?:about )?|(?:error|status|http|line|column|char|code|version|minimum|least one|index|position)[ :=#(<[]*|exceeds limit \(|total of at least |\[)$/,
    /^(?:\s*(?:bytes?|[kmg]i?b\b|characters?|chars?\b|seconds?|ms\b|images?|messages?\b(?! tok))|\s*status code)/,
  ],
  ["total", /input and (?:maximum |max )?output tokens[ :=(]*$/, undefined],
  [
    "output",
    /(?:max_(?:new_|completion_|output_)?tokens|output tokens|generation length|generating|completion(?: tokens)?|\+)[ :=(]*(?:is too large|is|of)?[ :=(]*$/,
    /^\s*(?:tokens? )?(?:(?:in|for|from|as) (?:the |your )?(?:completion|output|response|generation)|(?:requested )?(?:output|completion|new|draft|generated|response) tokens?|max_(?:new_|completion_|output_)?tokens|of output)/,
  ],
  [
    "total",
    /(?:\brequested|\bresulted in|\bfor a total of|\bwill take|\brequires(?: a sequence length of)?)(?: a total of| about| approximately)?[ :(]*$/,
    /^\s*tokens? (?:were |was )?(?:requested|in total)/,
  ],
  [
    "input",
    undefined,
    /^\s*(?:tokens? )?(?:(?:in|from|of) (?:the |your )?(?:input |text |tool |image |audio |file )?(?:messages?|prompt|inputs?|functions?|tools?|text)\b|(?:of )?(?:text |prompt )?inputs? tokens?\b|prompt tokens?\b|inputs tokens?\b)/,
  ],
  ["input", undefined, /^\s*(?:tokens? ?)?\)? ?\+/],
  [
    "observed",
    undefined,
    /^\s*(?:input )?(?:tokens?)?\)? ?(?:>=?|exceeds?\b|has exceeded|is (?:longer|larger|greater|more) than|which (?:exceeds|is (?:longer|larger|greater|more|over))|cannot exceed)/,
  ],
  [
    "limit",
    /(?:\bmax(?:imum)?|\blimit(?:ed)?|\ballowed|\bsupports?(?: up)?|\bup|\bwindow|\bcontext|\bcapacity|\bonly|_ctx|\bat most|\bno more than|\b(?:less|fewer|longer|larger|greater|more|bigger|higher) than|\bexceed(?:s|ed)?|\bexceeding|\bover|<=?|>=?|≤|\bmax_\w+)(?:[ :=(]+(?:is|of|to|the|just|only|for|this|model|tokens?|allowed|number|length|size|window|context|prompt|input|sequence|limit|maximum|max|total|a|an|configured|available|currently|set|at|supported|model_len|requests?|endpoint))*[ :=(]*$|(?:context|window|sequence|model) (?:length|size|limit|window)[ :=(]*(?:is|of|only)*[ :=(]*$|上限(?:为|是|：|:)? ?$|最大[^\d]{0,12}$|限制(?:为|是|：|:)? ?$/,
    /^\s*(?:tokens? )?(?:maximum|max\b|(?:token )?limit\b|token (?:context|window)|context (?:length|window))/,
  ],
  [
    "observed",
    /(?:\bcontains?|\bhas|\bhave|\bgiven|\bgot|\breceived|\bsupplied|\bprovided|\bpassed|\bsent|\bfound|\bcount|\blength|\bactual|\bused|\bkeep the first|\bn_keep|\bprompt|\binputs?|\brequest|\bmessages?|\btotal|\btoo (?:long|large|many tokens)|实际|当前|目前|输入|共)(?:[ :=(]+(?:is|of|at|least|about|approximately|around|tokens?|length|count|a|total|has|with|currently|now|the|number|size))*[ :=(]*$/,
    /^\s*(?:tokens?|input tokens?)?\)? ?(?:>|exceeds?|exceeded|is (?:longer|larger|greater|more|too)|which (?:exceeds|is)|but\b|has exceeded|cannot exceed|超)/,
  ],
];
