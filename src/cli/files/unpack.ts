import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { formatNumber } from "../terminal/output.ts";

/** How a transcript file is packed. Codex packs old rollouts with zstd. */
export type Packing = "plain" | "gzip" | "zstd";

/** How a file is packed, by its first bytes. */
export function packingOf(bytes: Uint8Array): Packing {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "gzip";
  return ZSTD_MAGIC.every((byte, index) => bytes[index] === byte) ? "zstd" : "plain";
}

const ZSTD_MAGIC: readonly number[] = [0x28, 0xb5, 0x2f, 0xfd];

/** The bytes of a packed file, piece by piece. Fails where they are broken, or become more than a session can be. */
export async function* unpack(source: Source, packing: Packing, limits: UnpackLimits = {}): Source {
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

type Source = AsyncIterable<Uint8Array>;

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
  readonly code = "cannot-unpack";
}

/** The bytes of a file in memory, unpacked where they are packed. */
export async function unpackedBytes(bytes: Uint8Array): Promise<Uint8Array> {
  const packing = packingOf(bytes);
  if (packing === "plain") return bytes;
  const chunks: Uint8Array[] = [];
  for await (const chunk of unpack(oneChunk(bytes), packing)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* oneChunk(bytes: Uint8Array): Source {
  yield bytes;
}

async function* countBytes(source: Source, onBytes: (count: number) => void): Source {
  for await (const chunk of source) {
    onBytes(chunk.length);
    yield chunk;
  }
}

async function* gunzip(source: Source): Source {
  // `pipeline` forwards an error of either stream to whoever reads the second.
  const unpacked = pipeline(Readable.from(source), createGunzip(), () => {});
  try {
    yield* unpacked;
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    throw code.startsWith("Z_")
      ? new UnpackError(`its gzip is broken (${message})`, { cause: error })
      : error;
  }
}

/** Node unpacks zstd itself only from version 22 on. The code for it is read when the first such file is. */
async function* unzstd(source: Source): Source {
  const { Decompress } = await import("fzstd");
  let ready: Uint8Array[] = [];
  const stream = new Decompress((chunk) => {
    ready.push(chunk);
  });
  const push = (chunk: Uint8Array, isLast: boolean): readonly Uint8Array[] => {
    try {
      stream.push(chunk, isLast);
    } catch (error) {
      throw new UnpackError(`its zstd is broken (${(error as Error).message})`, { cause: error });
    }
    const chunks = ready;
    ready = [];
    return chunks;
  };
  for await (const chunk of source) {
    // In small steps: a few bytes can stand for many.
    for (let start = 0; start < chunk.length; start += STEP_BYTES)
      yield* push(chunk.subarray(start, start + STEP_BYTES), false);
  }
  yield* push(new Uint8Array(0), true);
}

const STEP_BYTES = 512;
