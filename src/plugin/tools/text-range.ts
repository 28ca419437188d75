import type { RecallRange } from "../../session/recall.ts";
import type { TextParameter } from "./define-tool.ts";

/** A piece of a text, as models name it. */
export const RANGE: TextParameter = {
  type: "text",
  pattern: /^c?\d{1,9}-\d{0,9}$/,
  expects: 'lines such as "20-80", or characters such as "c8000-16000"',
  description: 'lines "20-80" or characters "c0-8000"',
};

/** The range that a text of the parameter `RANGE` names. */
export function parseRange(range: string): RecallRange {
  const isByChar = range.startsWith("c");
  const [from = "", to = ""] = range.replace("c", "").split("-");
  if (isByChar) return { fromChar: Number(from), ...(to !== "" && { toChar: Number(to) }) };
  return { fromLine: Math.max(1, Number(from)), ...(to !== "" && { toLine: Number(to) }) };
}
