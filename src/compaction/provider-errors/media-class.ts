import { anyOf } from "./any-of.ts";

/** Whether an error is about the size, number or kind of images, or about the bytes of media as a whole. */
export function mediaClass(words: string): "image" | "payload_too_large" | undefined {
  // Media also cost tokens: where tokens are named, the count is what matters.
  if (/\btokens?\b|\bcontext\b|\bprompt is too long\b/.test(words) || !SIZE.test(words)) return undefined;
  if (IMAGE.test(words)) return TOGETHER.test(words) ? "payload_too_large" : "image";
  return OTHER_MEDIA.test(words) ? "payload_too_large" : undefined;
}

const SIZE = anyOf(
  /exceed|too (?:large|big|many|long)|maximum|\bmax\b|\blimit|at most|larger than|longer than|number of/,
  /dimension|pixels?|duration|could not process|unable to process|unsupported/,
  /超过|超出|超過|过大|太大/,
);

const IMAGE = /\b(?:images?|photos?|pictures?|screenshots?)\b|图片|图像|圖片/;

const OTHER_MEDIA =
  /\b(?:videos?|audio|pdfs?|pages|files?|attachments?|documents?|media)\b|文件|檔案|附件|音频|视频/;

/** One image too large is that image's problem; all of them together are the request's. */
const TOGETHER = /image content|total|accumulated|combined/;
