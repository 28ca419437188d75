import { anyOf } from "./any-of.ts";

/** True when a statement calls the prompt, the input, the conversation or the tokens too long, large or many. */
export function saysTooLong(statement: string): boolean {
  return SUBJECT_FIRST.test(statement) || SUBJECT_LAST.test(statement);
}

const SUBJECT =
  /(?:prompts?|inputs?|messages?|conversation|history|quer(?:y|ies)|question|context|transcript|sequence|chat|instructions?|tokens?)/;

/** Words that may stand between the subject and "too long": none that would make it another subject. */
const FILLER = anyOf(
  /lengths?|sizes?|tokens?|count|text|sequence|history|messages?|content|window|prompts?|inputs?|prefix|total/,
  /is|are|was|were|has|have|had|become|becomes|been|being|may|might|be|grown|contains?/,
  /it|the|of|in|with|and|or|that|for|your|this|you|we|submitted|sent|provided|received/,
  /simply|far|much|way|just/,
  /\(?(?:about |around |approximately |at least |length |total length )?\d[\d,._]*(?: ?[km]\b)?(?: ?(?:input |prompt |total )?tokens?)?\)?/,
);

const SUBJECT_FIRST = anyOf(
  new RegExp(
    `\\b${SUBJECT.source}(?:[ :,]+(?:${FILLER.source})){0,8}[ :,]+too (?:long|large|big|many|much)\\b`,
  ),
  /\brequest(?: is| was)? too long\b/,
);

const SUBJECT_LAST = anyOf(
  /\btoo (?:long|large|big|many|much)(?: of)?(?: an?| the)?(?: (?:input|prompt|total|context|requested|combined|text))* (?:tokens?|prompts?|inputs?|context|conversation)\b/,
  /\btoo long for (?:the |this |requested |your |selected |current |chosen )*(?:model|context)\b/,
);
