import { anyOf, codeWords, readTokenFigures, splitSentences } from "./error-words.ts";

/**
 * True when the words of an error say that the request has more tokens than the model takes.
 * The rules are about meaning: what is too big (prompt, input, messages, tokens), how (exceeds, too long,
 * more than) and of what (context window, maximum, limit). Look-alikes must have been excluded before.
 */
export function saysOverflow(words: string): boolean {
  return (
    splitSentences(words).some(statesOverflow) ||
    namesOverflow(words) ||
    asksToShorten(words) ||
    countsMoreThanFits(words) ||
    saysOverflowInOtherLanguages(words)
  );
}

/** True when a machine code, as words, can only mean an overflow. */
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

/** "Maximum context length is 8192": in an error this alone means an overflow. */
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

/** The window of a model, under its many names. */
const WINDOW: RegExp = anyOf(
  /\bcontext[ _-]?(?:length|window|size|limit|budget|capacity|space|len)s?\b|\bcontext tokens?\b/,
  /\b(?:max(?:imum)?|total|supported|model)[ _](?:model|sequence|seq|context|prompt)[ _]?(?:len|length|size|window|limit)\b/,
  /\bmodels? (?:max(?:imum)?(?: length)?|window|token limit|input limit)\b|\b(?:n|num)_ctx\b/,
  /\bmax_(?:model|seq|input|prompt)_len\b|\bmax_(?:seq|sequence|context|input)_length\b|\bmax_position_embeddings\b/,
  /\bmax_(?:context|prompt|input|total)_tokens\b/,
);

/** Words that say a bound was passed. */
const EXCEEDS: RegExp = anyOf(
  /\bexceed(?:s|ed|ing)?\b|\bsurpass(?:es|ed|ing)?\b|\boverfl(?:ow|ows|owed|owing|ew)\b|\breached\b/,
  /\btoo (?:long|large|big|many|much)\b|\b(?:longer|larger|greater|bigger|higher|more) than\b/,
  /\b(?:over|above|beyond|past) (?:the|its|this|your|our|model|max|context|length|token)|\b(?:goes?|went) over\b/,
  /\b(?:not|cannot|cant|doesnt|dont|wont|can not|unable to) (?:be )?fit\b/,
  /\b(?:not enough|insufficient|out of|ran out|run out|outside|full)\b|> ?=? ?\d/,
);

/** Words that bound from above without saying that the bound was passed. */
const BOUNDS: RegExp = anyOf(
  /\b(?:less|fewer|lower|shorter|smaller) than\b|[<≤] ?=? ?\d/,
  /\b(?:at most|no more than|not more than|up to|limited to|capped at|should be|must be)\b/,
  /\b(?:maximum of|max of|max is|maximum is|limit is|limit of)\b/,
  /\bonly (?:supports?|accepts?|allows?|has|handles?|process(?:es)?)\b/,
  /\b(?:cannot|can not|must not|may not|should not|cant) (?:exceed|be (?:longer|larger|greater|more))\b/,
);

/** Tokens as a unit of text. */
const TOKENS: RegExp = /\btokens?\b|_tokens?\b|\btoken_/;

/** Tokens of the answer. */
const OUTPUT_TOKENS: RegExp = /\b(?:output|completion|response|generated|generation|new) tokens?\b/;

/** What a request is made of. */
const INPUT: RegExp = anyOf(
  /\b(?:prompts?|inputs?|messages?|conversation|chat|history|quer(?:y|ies)|question|context|transcript)\b/,
  /\b(?:sequence|requests?|requested|total|instructions?)\b|\b(?:input|prompt)_/,
);

/** What bounds a request, by name or by number. */
const LIMIT: RegExp = anyOf(
  /\b(?:limits?|maximum|max|allowed|allowable|permitted|supported|supports?|accepts?|capacity)\b|\bmax_/,
  /\b(?:context|model|window|size|length)\b|\b\d/,
);

/** True when a statement calls the prompt, the input, the conversation or the tokens too long, large or many. */
function saysTooLong(statement: string): boolean {
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

/** True when a text in another language than English says that the input is longer than the model takes. */
function saysOverflowInOtherLanguages(words: string): boolean {
  if (!/\P{ASCII}/u.test(words) && !PLAIN_LETTERS.test(words)) return false;
  if (NOT_ABOUT_INPUT.test(words)) return false;
  return OTHER_LANGUAGE_RULES.some(([subject, relation]) => subject.test(words) && relation.test(words));
}

/** Languages that can be written without a letter of their own. */
const PLAIN_LETTERS = /\b(?:excede|supera|demasiado|longitud|kontext|zu lang|trop long|troppo lung)/;

/** Limits of other things: media, answers, parameters, names, counts, money, frequency. */
const NOT_ABOUT_INPUT = anyOf(
  /图片|圖片|图像|文件|檔案|附件|音频|视频|字节|位元組|画像|ファイル|이미지|파일/,
  /输出|輸出|回复|回答|响应|max_(?:completion_|new_|output_)?tokens|参数|參數|名称|名稱|用户名|描述/,
  /(?:消息|工具|函数|请求|條|条)(?:数量|數量|个数|条数)|次数|次數|个数|条数/,
  /频率|頻率|速率|并发|並發|余额|餘額|额度|額度|限额|配额|配額|用量|套餐|积分|欠费|요금|今日|每月|本月/,
);

const OTHER_LANGUAGE_RULES: readonly (readonly [RegExp, RegExp])[] = [
  [
    /上下文|输入|輸入|提示词|提示詞|提示|prompt|消息|訊息|对话|對話|会话|會話|历史|歷史|问题|問題|文本|内容|內容|请求|請求|tokens?/,
    anyOf(
      /(?:过|太|超|過)(?:长|長)|超出|超过|超過|超限|溢出|(?:大|多|长|長)[于於]|过多|過多|太多/,
      /达到.{0,6}上限|達到.{0,6}上限|(?:不能|不得|不可|不应)超|长度不足/,
    ),
  ],
  [/上下文|输入|輸入|提示词|提示詞|对话|對話|prompt/, /过大|太大|過大/],
  [/压缩|缩短|减少|縮短|減少|精简/, /上下文|输入|輸入|对话|對話|提示/],
  [/超过|超出|超過/, /最大(?:输入)?(?:长度|長度)/],
  [/コンテキスト|プロンプト|入力|トークン|メッセージ|会話/, /超え|超過|長すぎ|大きすぎ|多すぎ|上限/],
  [/컨텍스트|프롬프트|입력|토큰|메시지|대화/, /초과|넘|너무 (?:길|많|큽|깁)/],
  [
    /context[oe]|entrada|mensajes|mensagens|prompt|\binvite\b|\bentrée|contesto/,
    /exced(?:e|en|ió)|supera|demasiado larg|muito long|longo demais|dépasse|trop long|troppo lung/,
  ],
  [/kontext|eingabe|nachrichten|prompt/, /überschr|zu lang|zu groß/],
  [/контекст|запрос|сообщени|промпт|токен/, /превыша|превышен|слишком (?:длин|больш|много)/],
];
