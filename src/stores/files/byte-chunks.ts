import { setImmediate as nextTurn } from "node:timers/promises";

/** The content as bytes, in pieces of at most 1 MiB that never split a character; each piece is valid until the next is asked for. */
export function* byteChunks(content: string | Uint8Array): Generator<Uint8Array, void, undefined> {
  if (typeof content !== "string") {
    for (let start = 0; start < content.byteLength; start += CHUNK_BYTES) {
      yield content.subarray(start, start + CHUNK_BYTES);
    }
    return;
  }
  const encoder = new TextEncoder();
  const buffer = new Uint8Array(Math.min(CHUNK_BYTES, content.length * MAX_BYTES_PER_UNIT));
  for (let start = 0; start < content.length; ) {
    let end = Math.min(content.length, start + CHUNK_UNITS);
    if (end < content.length && isHighSurrogate(content.charCodeAt(end - 1))) end -= 1;
    yield buffer.subarray(0, encoder.encodeInto(content.slice(start, end), buffer).written);
    start = end;
  }
}

export const CHUNK_BYTES: number = 1_048_576;

// A UTF-16 unit takes at most three bytes in UTF-8; a pair takes four.
const MAX_BYTES_PER_UNIT = 3;
const CHUNK_UNITS = Math.floor(CHUNK_BYTES / MAX_BYTES_PER_UNIT);

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Lets the rest of the program run whenever more than `sliceMs` have passed since it last could. */
export function createPause(sliceMs: number, beforePause?: () => void): () => Promise<void> {
  let startedMs = performance.now();
  return async () => {
    if (performance.now() - startedMs < sliceMs) return;
    beforePause?.();
    await nextTurn();
    startedMs = performance.now();
  };
}

/** Long work on files gives way this often. */
export const SLICE_MS: number = 20;
