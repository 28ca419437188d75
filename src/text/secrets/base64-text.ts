/** Decodes base64 of plain text, up to `maxChars` of input; undefined when it is not base64 or does not hold plain text. */
export function decodeBase64Text(encoded: string, maxChars: number): string | undefined {
  const body = encoded.slice(0, maxChars).replace(/=+$/, "");
  let text = "";
  let bits = 0;
  let bitCount = 0;
  for (let index = 0; index < body.length; index++) {
    const value = DIGITS.indexOf(body.charAt(index));
    if (value < 0) return undefined;
    bits = ((bits << 6) | value) & 0xffff;
    bitCount += 6;
    if (bitCount < 8) continue;
    bitCount -= 8;
    const code = (bits >> bitCount) & 0xff;
    if ((code < 32 && code !== 9 && code !== 10 && code !== 13) || code > 126) return undefined;
    text += String.fromCharCode(code);
  }
  return text;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
