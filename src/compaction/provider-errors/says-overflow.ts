import { anyOf } from "./any-of.ts";
import { codeWords, statements } from "./error-words.ts";
import { BOUNDS, EXCEEDS, INPUT, LIMIT, OUTPUT_TOKENS, TOKENS, WINDOW } from "./overflow-vocabulary.ts";
import { readTokenFigures } from "./read-token-figures.ts";
import { saysOverflowInOtherLanguages } from "./says-overflow-in-other-languages.ts";
import { saysTooLong } from "./says-too-long.ts";

/**
 * True when the words of an error say that the request has more tokens than the model takes.
 * The rules are about meaning: what is too big (prompt, input, messages, tokens), how (exceeds, too long,
 * more than) and of what (context window, maximum, limit); they expect the look-alikes to be gone already.
 */
export function saysOverflow(words: string): boolean {
  return (
    statements(words).some(statesOverflow) ||
    namesOverflow(words) ||
    asksToShorten(words) ||
    countsMoreThanFits(words) ||
    saysOverflowInOtherLanguages(words)
  );
}

/** True when a machine code, as words, can mean nothing else than an overflow. */
export function codeSaysOverflow(code: string): boolean {
  return (
    CODE.test(code) ||
    (/\bcontext (?:length|window|size|limit|tokens?|budget)\b/.test(code) && EXCEEDS.test(code))
  );
}

const CODE = anyOf(
  /\b(?:context|prompt|inputs?|messages|conversation)\b.*\b(?:overflow|too long|tokens? (?:limit )?exceeded|length exceeded)\b/,
  /^(?:context overflow|exceed context size|tokens? limit reached|max prompt tokens exceeded)(?: error| exception)?$/,
);

function statesOverflow(statement: string): boolean {
  if (BYTES.test(statement)) return false;
  if (WINDOW.test(statement) && (EXCEEDS.test(statement) || FALLS_SHORT.test(statement))) return true;
  if (saysTooLong(statement) || NAMED_OVERFLOW.test(statement) || NAMED_MAXIMUM.test(statement)) return true;
  if (LENGTH_RANGE.test(statement) || tokensPassLimit(statement)) return true;
  return (
    PROMPT.test(statement) &&
    NAMED_BOUND.test(statement) &&
    (EXCEEDS.test(statement) || BOUNDS.test(statement))
  );
}

function tokensPassLimit(statement: string): boolean {
  if (!TOKENS.test(statement) || !LIMIT.test(statement)) return false;
  const aboutInput = INPUT.test(statement);
  if (OUTPUT_TOKENS.test(statement) && !aboutInput) return false;
  return EXCEEDS.test(statement) || (aboutInput && (BOUNDS.test(statement) || CONTRAST.test(statement)));
}

const BYTES = /\b\d[\d.,]* ?(?:[kmg]i?b|bytes?)\b|\bbytes\b|\bmegabytes?\b/;

/** What is said of a window that is smaller than the request. */
const FALLS_SHORT = /\brequested \d|\b(?:is|of) only \d|\s>=?\s/;

const NAMED_OVERFLOW = anyOf(
  /^(?:\w+ ?)?(?:error: )?context (?:overflow|too long)(?:$|[: ,(])|\b(?:due to|because of|caused by) (?:a )?context overflow\b/,
  /^(?:the )?max(?:imum)? context (?:length|window|size)$|\bcontext (?:window|length|size) (?:is )?too small for\b/,
  /\b(?:model )?context (?:is |has been |was )?(?:exceeded|full|overflowed|exhausted)\b/,
  /\bexceed(?:s|ed)? (?:the |model |models |available |max(?:imum)? )*context\b|\bslot context\b|\bn_ctx_slot\b/,
);

/** "Maximum context length is 8192": said in an error, that alone is the complaint. */
const NAMED_MAXIMUM = new RegExp(
  [
    /\bmax(?:imum)?(?:[ _](?:supported|allowed|allowable|total|combined|available|permitted|configured|possible|number of|models?|effective))*/,
    /[ _](?:context|prompts?|inputs?|sequence|model|request tokens?|messages? tokens?|tokens?|question)/,
    /(?:[ _](?:context|input|prompt|sequence|tokens?|window))*[ _]?(?:length|window|size|tokens?|limit|count|len|characters)?/,
    /(?: (?:for|of) (?:this|the) (?:model|endpoint|request))?(?: allowed)?\s*(?:is|of|:|was|=|\()+\s*/,
    /(?:just |only |about )?\(?\d[\d,._]*(?: ?[km]\b)?/,
    /(?! ?(?:[kmg]i?b\b|bytes?|char|pixels?|px\b|images?|messages?|items?|seconds?|ms\b|files?|pages?|times|elements?))/,
  ]
    .map((part) => part.source)
    .join(""),
);

const LENGTH_RANGE = anyOf(
  /\b(?:input|prompt|messages?|context)[ _](?:tokens?[ _])?(?:length|len|count|size)[^.]{0,20}\b(?:should|must) be\b/,
  /\brange of (?:input|prompt)\b/,
);

const CONTRAST = anyOf(
  /\d ?(?:\w+ )?tokens?\b.*\b(?:but|while|whereas|however)\b.*\b(?:context|window|max\w*|limit|supports?|length|size)\b/,
  /\b(?:context|window|max\w*|limit|supports?)\b.*\b(?:but|while|whereas|however)\b.*\d ?(?:\w+ )?tokens?\b/,
);

const PROMPT =
  /\b(?:prompts?|inputs?|conversation|history|quer(?:y|ies)|question|messages|sequence|context)\b/;

const NAMED_BOUND = anyOf(
  /\bmodels? (?:capacity|limits?|maximum|window)\b/,
  /\b(?:max(?:imum)?|limit|allowed|permitted|supported)\b.*\b(?:length|tokens?|inputs?|prompt|context|limit)\b/,
  /\b(?:length|size|token)\b.*\b(?:limit|max(?:imum)?|allowed)\b/,
);

/** A code spelled out in a sentence: `stop reason model_context_window_exceeded`. */
function namesOverflow(words: string): boolean {
  if (/context(?:window|length)exceeded|(?:prompt|input)toolong|contextoverflow/.test(words)) return true;
  return (words.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []).some((code) => codeSaysOverflow(codeWords(code)));
}

function asksToShorten(words: string): boolean {
  if (/\btoo large\b/.test(words) && /\bmax(?:imum)? (?:size|length):? \d[\d,]* tokens/.test(words))
    return true;
  if (BYTES.test(words)) return false;
  if (/\bshorten (?:the |your )?(?:prompt|input|messages|conversation|chat|context)\b/.test(words))
    return true;
  return SHORTEN.test(words) && /\b(?:lengths?|long|tokens?|context|exceed\w*|shorter|larger)\b/.test(words);
}

const SHORTEN = anyOf(
  /\b(?:reduce|decrease|trim|truncate|cut|shrink|limit) (?:down )?(?:the |your )?(?:(?:total |overall )?(?:length|size|number of tokens|token count|tokens|amount) (?:of|in) )?(?:the |your )?(?:input |prompt |total )?(?:messages|prompts?|inputs?|conversation|context|tokens in|chat history|history)\b/,
  /\b(?:shorter|smaller) (?:prompt|input|message|conversation)\b/,
);

/** A count of what was sent that is above a count of what fits, wherever in the text they stand. */
function countsMoreThanFits(words: string): boolean {
  if (!INPUT.test(words) || !/tokens?\b|\blength\b/.test(words)) return false;
  const { observedTokens = 0, limitTokens } = readTokenFigures(words);
  return limitTokens !== undefined && observedTokens > limitTokens;
}
