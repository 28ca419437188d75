import { anyOf } from "./any-of.ts";

/** The window of a model, under its many names. */
export const WINDOW: RegExp = anyOf(
  /\bcontext[ _-]?(?:length|window|size|limit|budget|capacity|space|len)s?\b|\bcontext tokens?\b/,
  /\b(?:max(?:imum)?|total|supported|model)[ _](?:model|sequence|seq|context|prompt)[ _]?(?:len|length|size|window|limit)\b/,
  /\bmodels? (?:max(?:imum)?(?: length)?|window|token limit|input limit)\b|\b(?:n|num)_ctx\b/,
  /\bmax_(?:model|seq|input|prompt)_len\b|\bmax_(?:seq|sequence|context|input)_length\b|\bmax_position_embeddings\b/,
  /\bmax_(?:context|prompt|input|total)_tokens\b/,
);

/** Words that say a bound was passed. */
export const EXCEEDS: RegExp = anyOf(
  /\bexceed(?:s|ed|ing)?\b|\bsurpass(?:es|ed|ing)?\b|\boverfl(?:ow|ows|owed|owing|ew)\b|\breached\b/,
  /\btoo (?:long|large|big|many|much)\b|\b(?:longer|larger|greater|bigger|higher|more) than\b/,
  /\b(?:over|above|beyond|past) (?:the|its|this|your|our|model|max|context|length|token)|\b(?:goes?|went) over\b/,
  /\b(?:not|cannot|cant|doesnt|dont|wont|can not|unable to) (?:be )?fit\b/,
  /\b(?:not enough|insufficient|out of|ran out|run out|outside|full)\b|> ?=? ?\d/,
);

/** Words that bound from above without saying that the bound was passed. */
export const BOUNDS: RegExp = anyOf(
  /\b(?:less|fewer|lower|shorter|smaller) than\b|[<≤] ?=? ?\d/,
  /\b(?:at most|no more than|not more than|up to|limited to|capped at|should be|must be)\b/,
  /\b(?:maximum of|max of|max is|maximum is|limit is|limit of)\b/,
  /\bonly (?:supports?|accepts?|allows?|has|handles?|process(?:es)?)\b/,
  /\b(?:cannot|can not|must not|may not|should not|cant) (?:exceed|be (?:longer|larger|greater|more))\b/,
);

/** Tokens as a unit of text. */
export const TOKENS: RegExp = /\btokens?\b|_tokens?\b|\btoken_/;

/** Tokens of the answer. */
export const OUTPUT_TOKENS: RegExp = /\b(?:output|completion|response|generated|generation|new) tokens?\b/;

/** What a request is made of. */
export const INPUT: RegExp = anyOf(
  /\b(?:prompts?|inputs?|messages?|conversation|chat|history|quer(?:y|ies)|question|context|transcript)\b/,
  /\b(?:sequence|requests?|requested|total|instructions?)\b|\b(?:input|prompt)_/,
);

/** What bounds a request, by name or by number. */
export const LIMIT: RegExp = anyOf(
  /\b(?:limits?|maximum|max|allowed|allowable|permitted|supported|supports?|accepts?|capacity)\b|\bmax_/,
  /\b(?:context|model|window|size|length)\b|\b\d/,
);
