/**
 * Lets nothing through to a stream that a terminal would obey: every control character but line breaks and tabs, and every
 * mark that turns text around, is written as its escape, which in JSON means the same. A terminal gets our own colours.
 */
export function guardStream(stream: NodeJS.WriteStream): void {
  const write = stream.write.bind(stream);
  unguarded.set(stream, write);
  const guarded = (chunk: string | Uint8Array, ...rest: []): boolean =>
    write(typeof chunk === "string" ? escapeCommands(chunk, stream.isTTY === true) : chunk, ...rest);
  stream.write = guarded as typeof stream.write;
}

/** How to write to a guarded stream what is ours. */
export const unguarded: WeakMap<NodeJS.WriteStream, NodeJS.WriteStream["write"]> = new WeakMap();

/** The text with every character as an escape that a terminal would obey. */
export function escapeCommands(text: string, keepsOwnStyles: boolean): string {
  return text.replace(COMMAND, (found) => {
    if (found.length > 1 && (keepsOwnStyles || found === "\r\n")) return found;
    return Array.from(found, (each) =>
      PLAIN.test(each) ? each : `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
    ).join("");
  });
}

const COMMAND =
  /\x1b\[(?:1|2|22|31|39)m|\r\n|[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

const PLAIN = /[ -~]/;
