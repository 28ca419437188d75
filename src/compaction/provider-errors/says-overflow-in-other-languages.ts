/** True when a text in another language than English says that the input is longer than the model takes. */
export function saysOverflowInOtherLanguages(words: string): boolean {
  if (!/[^\p{ASCII}]/u.test(words) && !ROMANCE_OR_GERMAN.test(words)) return false;
  if (NOT_ABOUT_INPUT.test(words)) return false;
  return RULES.some(([subject, relation]) => subject.test(words) && relation.test(words));
}

const ROMANCE_OR_GERMAN = /\b(?:excede|supera|demasiado|longitud|kontext|zu lang|trop long|troppo lung)/;

/** Images, files, answers, money and frequency have limits too. */
const NOT_ABOUT_INPUT =
  /图片|圖片|图像|文件|檔案|附件|音频|视频|频率|頻率|速率|并发|並發|次数|次數|余额|餘額|额度|額度|配额|配額|欠费|字节|位元組|max_(?:completion_|new_|output_)?tokens|输出|輸出|画像|ファイル|이미지|파일|요금/;

const RULES: readonly (readonly [RegExp, RegExp])[] = [
  [
    /上下文|输入|輸入|提示词|提示詞|提示|prompt|消息|訊息|对话|對話|会话|會話|历史|歷史|问题|問題|文本|内容|內容|字数|tokens?|长度|長度|请求|請求/,
    /(?:过|太|超|過)(?:长|長)|超出|超过|超過|超限|溢出|(?:大|多|长|長)[于於]|过多|過多|太多|达到上限|達到上限|(?:不能|不得|不可|不应)超|上限|最大(?:长度|長度|上下文|token)/,
  ],
  [/上下文|输入|輸入|提示词|提示詞|对话|對話|prompt/, /过大|太大|過大/],
  [/(?:压缩|缩短|减少|縮短|減少|精简)/, /上下文|输入|輸入|对话|對話|提示/],
  [/コンテキスト|プロンプト|入力|トークン|メッセージ|会話/, /超え|超過|長すぎ|大きすぎ|多すぎ|上限/],
  [/컨텍스트|프롬프트|입력|토큰|메시지|대화/, /초과|넘|너무 (?:길|많|큽|깁)/],
  [
    /context[oe]|entrada|mensajes|mensagens|prompt|\binvite\b|\bentrée|contesto/,
    /exced(?:e|en|ió)|supera|demasiado larg|muito long|longo demais|dépasse|trop long|troppo lung/,
  ],
  [/kontext|eingabe|nachrichten|prompt/, /überschr|zu lang|zu groß/],
  [/контекст|запрос|сообщени|промпт|токен/, /превыша|превышен|слишком (?:длин|больш|много)/],
];
