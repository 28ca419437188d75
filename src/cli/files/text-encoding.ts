/**
 * The same bytes; of a text in UTF-16, as some shells write it, those of UTF-8. Says of a byte-order mark at the beginning
 * which it is.
 */
export async function* inUtf8(
  source: AsyncIterable<Uint8Array>,
  onMark: (mark: "utf-8" | "utf-16") => void = () => {},
): AsyncGenerator<Uint8Array> {
  let wide: InstanceType<typeof TextDecoder> | undefined;
  let isFirst = true;
  for await (const chunk of source) {
    if (isFirst && chunk[0] === 0xff && chunk[1] === 0xfe) {
      wide = new TextDecoder("utf-16le");
      onMark("utf-16");
    } else if (isFirst && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf) onMark("utf-8");
    isFirst = false;
    yield wide === undefined ? chunk : Buffer.from(wide.decode(chunk, { stream: true }), "utf8");
  }
}

/** A text without the byte-order mark, which a parser of JSON does not take. */
export function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, "");
}
