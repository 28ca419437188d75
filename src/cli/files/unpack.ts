import { createReadStream } from "node:fs";
import { createGunzip } from "node:zlib";
import { formatNumber } from "../../text/format-number.ts";
import { BROKEN_PACKING } from "./unreadable.ts";

/** How a transcript file is packed. Codex packs old rollouts with zstd. */
export type Packing = "plain" | "gzip" | "zstd";

/** How a file is packed, by its first bytes. */
export function packingOf(bytes: Uint8Array): Packing {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "gzip";
  return ZSTD_MAGIC.every((byte, index) => bytes[index] === byte) ? "zstd" : "plain";
}

const ZSTD_MAGIC: readonly number[] = [0x28, 0xb5, 0x2f, 0xfd];

/** How a file is packed. */
export async function packingOfFile(path: string): Promise<Packing> {
  for await (const chunk of createReadStream(path, { end: 3 })) return packingOf(chunk as Buffer);
  return "plain";
}

/** The bytes of a packed file, piece by piece. Fails where they are broken, or become more than a session can be. */
export async function* unpack(
  source: PackedSource,
  packing: Packing,
  limits: UnpackLimits = {},
): PackedSource {
  if (packing === "plain") {
    yield* source;
    return;
  }
  const { maxBytes = MAX_UNPACKED_BYTES, maxRatio = MAX_RATIO } = limits;
  const read = { packed: 0, unpacked: 0 };
  const counted = countBytes(source, (count) => {
    read.packed += count;
  });
  for await (const chunk of packing === "gzip" ? gunzip(counted) : unzstd(counted)) {
    read.unpacked += chunk.length;
    if (read.unpacked > maxBytes)
      throw new UnpackError(`it is larger than ${formatNumber(maxBytes)} bytes when it is unpacked`);
    if (read.unpacked > RATIO_FROM_BYTES && read.unpacked > maxRatio * read.packed)
      throw new UnpackError(
        `it becomes more than ${formatNumber(maxRatio)} times as large when it is unpacked`,
      );
    yield chunk;
  }
}

export type PackedSource = AsyncIterable<Uint8Array>;

/** The most that is unpacked. */
interface UnpackLimits {
  readonly maxBytes?: number;
  /** Unpacked bytes for each packed one. */
  readonly maxRatio?: number;
}

/** The largest session file that we have heard of has 892 MB. */
const MAX_UNPACKED_BYTES = 2 * 1024 ** 3;
/** The 53 sessions of our second corpus are 2 to 9 times as large as packed. */
const MAX_RATIO = 1_000;
const RATIO_FROM_BYTES = 16 * 1024 ** 2;

/** A file that cannot be unpacked, and why. */
class UnpackError extends Error {
  readonly code: string = "cannot-unpack";
}

/** One that is cut or damaged: what stands before that was given. */
class BrokenPackingError extends UnpackError {
  override readonly code = BROKEN_PACKING;
}

/** The bytes of a file in memory, unpacked where they are packed. */
export async function unpackedBytes(bytes: Uint8Array): Promise<Uint8Array> {
  const packing = packingOf(bytes);
  if (packing === "plain") return bytes;
  const chunks: Uint8Array[] = [];
  for await (const chunk of unpack(oneChunk(bytes), packing)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function* oneChunk(bytes: Uint8Array): PackedSource {
  yield bytes;
}

async function* countBytes(source: PackedSource, onBytes: (count: number) => void): PackedSource {
  for await (const chunk of source) {
    onBytes(chunk.length);
    yield chunk;
  }
}

async function* gunzip(source: PackedSource): PackedSource {
  const stream = createGunzip();
  let ready: Uint8Array[] = [];
  let failure: Error | undefined;
  let finishStep = (): void => {};
  stream.on("data", (chunk: Uint8Array) => ready.push(chunk));
  stream.on("error", (error) => {
    failure = error;
    finishStep();
  });
  /** Gives what a step has unpacked, before it fails for what could not be. */
  async function* take(step: (done: () => void) => void): PackedSource {
    await new Promise<void>((resolve) => {
      finishStep = resolve;
      step(resolve);
    });
    const chunks = ready;
    ready = [];
    yield* chunks;
    if (failure !== undefined)
      throw new BrokenPackingError(`its gzip is broken (${failure.message})`, { cause: failure });
  }
  for await (const chunk of source) {
    for (const piece of inSteps(chunk, GZIP_STEP_BYTES)) {
      yield* take((done) => {
        stream.write(piece, () => done());
      });
    }
  }
  yield* take((done) => {
    stream.once("end", done).end();
  });
}

/** In small steps: a few bytes can stand for many. */
function* inSteps(chunk: Uint8Array, stepBytes: number): Generator<Uint8Array> {
  for (let start = 0; start < chunk.length; start += stepBytes)
    yield chunk.subarray(start, start + stepBytes);
}

const GZIP_STEP_BYTES = 16_384;

/** Node unpacks zstd itself only from version 22 on. The code for it is read when the first such file is. */
async function* unzstd(source: PackedSource): PackedSource {
  const { Decompress } = await import("fzstd");
  let ready: Uint8Array[] = [];
  const stream = new Decompress((chunk) => {
    ready.push(chunk);
  });
  const push = (chunk: Uint8Array, isLast: boolean): readonly Uint8Array[] => {
    try {
      stream.push(chunk, isLast);
    } catch (error) {
      throw new BrokenPackingError(`its zstd is broken (${(error as Error).message})`, { cause: error });
    }
    const chunks = ready;
    ready = [];
    return chunks;
  };
  for await (const chunk of source) {
    for (const piece of inSteps(chunk, ZSTD_STEP_BYTES)) yield* push(piece, false);
  }
  yield* push(new Uint8Array(0), true);
}

const ZSTD_STEP_BYTES = 512;
