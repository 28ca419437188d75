import { setImmediate as nextTurn } from "node:timers/promises";

/** Encodes content in chunks of at most 1 MiB that split no character. The buffer of a chunk is reused for the next. */
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

/** The largest chunk. */
export const CHUNK_BYTES: number = 1_048_576;

// A UTF-16 unit takes at most three bytes in UTF-8; a pair takes four.
const MAX_BYTES_PER_UNIT = 3;
const CHUNK_UNITS = Math.floor(CHUNK_BYTES / MAX_BYTES_PER_UNIT);

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** A function that yields to the event loop whenever 20 ms have passed since it last did. */
export function createPause(beforePause?: () => void): () => Promise<void> {
  let startedMs = performance.now();
  return async () => {
    if (performance.now() - startedMs < SLICE_MS) return;
    beforePause?.();
    await nextTurn();
    startedMs = performance.now();
  };
}

const SLICE_MS = 20;
