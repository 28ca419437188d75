import { codeWords, statements } from "./error-words.ts";
import { saysOverflowInHan } from "./says-overflow-in-han.ts";

/**
 * True when the words of an error say that the request has more tokens than the model takes.
 * The rules are about meaning: what is too big (prompt, input, messages, tokens), how (exceeds, too long,
 * more than) and of what (context window, maximum, limit); they expect the look-alikes to be gone already.
 */
export function saysOverflow(words: string): boolean {
  return (
    statements(words).some(stateOverflow) ||
    namesOverflow(words) ||
    saysAcrossStatements(words) ||
    saysOverflowInHan(words)
  );
}

/** True when a machine code, as words, can mean nothing else than an overflow. */
export function codeSaysOverflow(code: string): boolean {
  return (
    (/\bcontext (?:length|window|size|limit|tokens?|budget)\b/.test(code) && EXCEEDS.test(code)) ||
    /\b(?:context|prompt|inputs?|messages|conversation)\b.*\b(?:overflow|too long|tokens? (?:limit )?exceeded|length exceeded)\b/.test(
      code,
    ) ||
    /^(?:context overflow|exceed context size|tokens? limit reached|max prompt tokens exceeded)(?: error| exception)?$/.test(
      code,
    )
  );
}

/** A code spelled out in a sentence: `stop reason model_context_window_exceeded`. */
function namesOverflow(words: string): boolean {
  if (/(?:context(?:window|length)exceeded|(?:prompt|input)toolong|contextoverflow)/.test(words)) return true;
  return (words.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []).some((code) => codeSaysOverflow(codeWords(code)));
}

const union = (...sources: readonly string[]): string => `(?:${sources.join("|")})`;

const NUMBER = "\\d[\\d,._]*(?: ?[km]\\b)?";
const COUNTED = `\\(?(?:about |around |approximately |at least |length |total length )?${NUMBER}(?: ?(?:input |prompt |total )?tokens?)?\\)?`;

/** The window of a model, under its many names. */
const WINDOW = new RegExp(
  union(
    "\\bcontext[ _-]?(?:length|window|size|limit|budget|capacity|space|len)s?\\b",
    "\\bcontext tokens?\\b",
    "\\b(?:max(?:imum)?|total|supported|model)[ _](?:model|sequence|seq|context|prompt)[ _]?(?:len|length|size|window|limit)\\b",
    "\\bmodel(?:s)? (?:max(?:imum)?(?: length)?|window|token limit|input limit)\\b",
    "\\b(?:n|num)_ctx\\b",
    "\\bmax_(?:model_len|seq_len|seq_length|sequence_length|position_embeddings|context_length|context_tokens|prompt_tokens|input_tokens|input_length|total_tokens|input_len|prompt_len)\\b",
  ),
);

const EXCEEDS = new RegExp(
  union(
    "\\bexceed(?:s|ed|ing)?\\b",
    "\\btoo (?:long|large|big|many|much)\\b",
    "\\b(?:longer|larger|greater|bigger|higher|more) than\\b",
    "\\boverfl(?:ow|ows|owed|owing|ew)\\b",
    "\\b(?:over|above|beyond|past) (?:the|its|this|your|our|model|max)",
    "\\bsurpass(?:es|ed|ing)?\\b",
    "\\b(?:has |have |was |been )?reached\\b",
    "\\b(?:not|cannot|cant|doesnt|dont|wont|can not|unable to) (?:be )?fit\\b",
    "\\b(?:not enough|insufficient|out of|ran out|run out|outside|full)\\b",
    "> ?=? ?\\d",
    "\\bgoes? over\\b",
    "\\bwent over\\b",
  ),
);

/** Words that bound from above without saying that the bound was passed. */
const BOUNDS = new RegExp(
  union(
    "\\b(?:less|fewer|lower|shorter|smaller) than\\b",
    "\\b(?:at most|no more than|not more than|up to|limited to|maximum of|max of|max is|maximum is|limit is|limit of|capped at|should be|must be|only (?:supports?|accepts?|allows?|has))\\b",
    "[<≤] ?=? ?\\d",
    "\\b(?:cannot|can not|must not|may not|should not|cant) (?:exceed|be (?:longer|larger|greater|more))\\b",
  ),
);

const TOKENS = /\btokens?\b|_tokens?\b|\btoken_/;

const INPUT =
  /\b(?:prompts?|inputs?|messages?|conversation|chat|history|quer(?:y|ies)|question|context|transcript|sequence|requests?|requested|total|instructions?)\b|\b(?:input|prompt)_/;

const LIMIT =
  /\b(?:limits?|maximum|max|allowed|allowable|permitted|supported|supports?|accepts?|capacity|context|model|window|size|length)\b|\bmax_|\bexceed(?:s|ed)? ?\(?\d|\bof \d|[<>≤] ?=? ?\d|\b\d/;

const FILLER = union(
  "lengths?",
  "sizes?",
  "tokens?",
  "count",
  "text",
  "sequence",
  "history",
  "messages?",
  "content",
  "window",
  "is",
  "are",
  "was",
  "were",
  "has",
  "have",
  "had",
  "become",
  "becomes",
  "been",
  "being",
  "it",
  "the",
  "of",
  "in",
  "with",
  "contains?",
  "and",
  "or",
  "prefix",
  "prompts?",
  "inputs?",
  "grown",
  "may",
  "might",
  "be",
  "that",
  "simply",
  "far",
  "much",
  "way",
  "just",
  "your",
  "this",
  "for",
  "total",
  "you",
  "we",
  "submitted",
  "sent",
  "provided",
  "received",
  COUNTED,
);

const SUBJECT_TOO_LONG = new RegExp(
  `\\b(?:prompts?|inputs?|messages?|conversation|history|quer(?:y|ies)|question|context|transcript|sequence|chat|instructions?|tokens?)(?:[ :,]+${FILLER}){0,8}[ :,]+too (?:long|large|big|many|much)\\b`,
);
const TOO_LONG_SUBJECT =
  /\btoo (?:long|large|big|many|much)(?: of)?(?: an?| the)?(?: (?:input|prompt|total|context|requested|combined|text))* (?:tokens?|prompts?|inputs?|context|conversation)\b/;
const TOO_LONG_FOR_MODEL =
  /\btoo (?:long|large|big|many) for (?:the |this |requested |your |selected |current |chosen )*(?:model|context)\b/;

/** "Maximum context length is 8192": said in an error, that alone is the complaint. */
const NAMED_MAXIMUM = new RegExp(
  `\\bmax(?:imum)?(?:[ _](?:supported|allowed|allowable|total|combined|available|permitted|configured|possible|number of|models?|effective))*[ _](?:context|prompts?|inputs?|sequence|model|request tokens?|messages? tokens?|tokens?|question)(?:[ _](?:context|input|prompt|sequence|tokens?|window))*[ _]?(?:length|window|size|tokens?|limit|count|len|characters)?(?: (?:for|of) (?:this|the) (?:model|endpoint|request))?(?: allowed)?\\s*(?:is|of|:|was|=|\\()+\\s*(?:just |only |about )?\\(?${NUMBER}(?! ?(?:[kmg]i?b\\b|bytes?|char|pixels?|px\\b|images?|messages?|items?|seconds?|ms\\b|files?|pages?|times|elements?))`,
);

const LENGTH_RANGE =
  /\b(?:range of )?(?:input|prompt|messages?|context)[ _](?:tokens?[ _])?(?:length|len|count|size)[^.]{0,20}\b(?:should|must) be\b|\brange of (?:input|prompt)\b/;

const SHORTEN =
  /\b(?:reduce|shorten|decrease|trim|truncate|cut|shrink|limit) (?:down )?(?:the |your )?(?:(?:total |overall )?(?:length|size|number of tokens|token count|tokens|amount) (?:of|in) )?(?:the |your )?(?:input |prompt |total )?(?:messages|prompts?|inputs?|conversation|context|tokens in|chat history|history)\b|\b(?:shorter|smaller) (?:prompt|input|message|conversation)\b/;

const OUTPUT_ONLY = /\b(?:output|completion|response|generated|generation|new) tokens?\b/;

function stateOverflow(statement: string): boolean {
  if (/\b\d[\d.,]* ?(?:[kmg]i?b|bytes?)\b|\bbytes\b|\bmegabytes?\b/.test(statement)) return false;
  if (WINDOW.test(statement) && EXCEEDS.test(statement)) return true;
  if (/^(?:\w+ ?)?(?:error: )?context (?:overflow|too long)(?:$|[: ,(])/.test(statement)) return true;
  if (SUBJECT_TOO_LONG.test(statement) || TOO_LONG_SUBJECT.test(statement)) return true;
  if (TOO_LONG_FOR_MODEL.test(statement) && (INPUT.test(statement) || TOKENS.test(statement))) return true;
  if (NAMED_MAXIMUM.test(statement) || LENGTH_RANGE.test(statement)) return true;
  return countsTooMuch(statement);
}

function countsTooMuch(statement: string): boolean {
  const aboutInput = INPUT.test(statement);
  if (OUTPUT_ONLY.test(statement) && !aboutInput) return false;
  if (TOKENS.test(statement) && LIMIT.test(statement)) {
    if (EXCEEDS.test(statement)) return true;
    if (aboutInput && (BOUNDS.test(statement) || BUT_LESS_FITS.test(statement))) return true;
  }
  return (
    PROMPT_LENGTH.test(statement) &&
    (EXCEEDS.test(statement) || BOUNDS.test(statement)) &&
    BOUND_NAMED.test(statement)
  );
}

const BUT_LESS_FITS =
  /\d ?(?:\w+ )?tokens?\b.*\b(?:but|while|whereas|however)\b.*\b(?:context|window|max\w*|limit|supports?|length|size)\b|\b(?:context|window|max\w*|limit|supports?)\b.*\b(?:but|while|whereas|however)\b.*\d ?(?:\w+ )?tokens?\b/;
const PROMPT_LENGTH =
  /\b(?:prompts?|inputs?|conversation|history|quer(?:y|ies)|question|messages|sequence|context)\b/;
const BOUND_NAMED =
  /\b(?:max(?:imum)?|limit|allowed|permitted|supported)\b.*\b(?:length|tokens?|inputs?|prompt|context|limit)\b|\b(?:length|size|token)\b.*\b(?:limit|max(?:imum)?|allowed)\b/;

function saysAcrossStatements(words: string): boolean {
  if (
    /\btoo large\b/.test(words) &&
    new RegExp(`\\bmax(?:imum)? (?:size|length):? ${NUMBER} tokens`).test(words)
  )
    return true;
  if (/\b\d[\d.,]* ?(?:[kmg]i?b|bytes?)\b/.test(words)) return false;
  return SHORTEN.test(words) && /\b(?:lengths?|long|tokens?|context|exceed\w*|shorter|larger)\b/.test(words);
}
