/** Decodes base64 of plain text; undefined when it is not base64 or does not hold plain text. */
export function decodeBase64Text(encoded: string): string | undefined {
  const body = encoded.replace(/=+$/, "");
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
    const isPlain = (code >= 32 && code < 127) || code === 9 || code === 10 || code === 13;
    if (!isPlain) return undefined;
    text += String.fromCharCode(code);
  }
  return text;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
