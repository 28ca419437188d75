import { anyOf } from "./any-of.ts";

/** True when a text in another language than English says that the input is longer than the model takes. */
export function saysOverflowInOtherLanguages(words: string): boolean {
  if (!/\P{ASCII}/u.test(words) && !PLAIN_LETTERS.test(words)) return false;
  if (NOT_ABOUT_INPUT.test(words)) return false;
  return RULES.some(([subject, relation]) => subject.test(words) && relation.test(words));
}

/** Languages that can be written without a letter of their own. */
const PLAIN_LETTERS = /\b(?:excede|supera|demasiado|longitud|kontext|zu lang|trop long|troppo lung)/;

/** Media, answers, parameters, names, numbers of things, money and frequency have limits too. */
const NOT_ABOUT_INPUT = anyOf(
  /图片|圖片|图像|文件|檔案|附件|音频|视频|字节|位元組|画像|ファイル|이미지|파일/,
  /输出|輸出|回复|回答|响应|max_(?:completion_|new_|output_)?tokens|参数|參數|名称|名稱|用户名|描述/,
  /(?:消息|工具|函数|请求|條|条)(?:数量|數量|个数|条数)|次数|次數|个数|条数/,
  /频率|頻率|速率|并发|並發|余额|餘額|额度|額度|限额|配额|配額|用量|套餐|积分|欠费|요금|今日|每月|本月/,
);

const RULES: readonly (readonly [RegExp, RegExp])[] = [
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
