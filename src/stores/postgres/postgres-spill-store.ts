import { createHash } from "node:crypto";
import type { SpillRef, SpillStore } from "../../tool-output/spill-store.ts";
import { byteChunks, CHUNK_BYTES } from "../files/byte-chunks.ts";
import { createPause, SLICE_MS } from "../files/pause.ts";
import { isSha256 } from "../files/spill-file.ts";
import type { Connection, PostgresDatabase } from "./postgres-database.ts";
import { storableText } from "./text-key.ts";

/** Keeps spilled outputs by the hash of their bytes, once for all machines; with a holder, until that lets go of them. */
export function createPostgresSpillStore({ database, holder, onPut }: PostgresSpillOptions): SpillStore {
  const spills = database.table("spills");
  const pieces = database.table("spill_pieces");
  const holds = database.table("spill_holds");
  const held = holder === undefined ? undefined : storableText(holder);

  async function putSmall(connection: Connection, { hash, content }: Small): Promise<void> {
    const text = `
      insert into ${spills} (sha256, bytes, content) values ($1, $2, $3)
      on conflict (sha256) do update set used_at = now()`;
    await connection.rows(text, [hash, content.byteLength, content]);
  }

  /** In pieces, so that no statement and no answer holds the whole. */
  async function putLarge(connection: Connection, { hash, bytes, content }: Large): Promise<void> {
    const text = `
      insert into ${spills} (sha256, bytes) values ($1, $2)
      on conflict (sha256) do update set used_at = now() returning xmax = 0 as "isNew"`;
    const [row] = await connection.rows<{ readonly isNew: boolean }>(text, [hash, bytes]);
    if (row?.isNew !== true) return;
    let number = 0;
    for (const chunk of byteChunks(content)) {
      const values = [hash, number, Buffer.from(chunk)];
      await connection.rows(`insert into ${pieces} (sha256, number, content) values ($1, $2, $3)`, values);
      number += 1;
    }
  }

  async function hold(connection: Connection, hash: Buffer): Promise<void> {
    if (held === undefined) return;
    const text = `insert into ${holds} (sha256, holder) values ($1, $2) on conflict do nothing`;
    await connection.rows(text, [hash, held]);
  }

  /** The pieces one by one, undefined when one is missing or the whole is not what was put. */
  async function read(connection: Connection, hash: Buffer): Promise<string | undefined> {
    const [row] = await connection.rows<SpillRow>(READ(spills), [hash]);
    if (row === undefined) return undefined;
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const check = createHash("sha256");
    let text = "";
    let bytes = 0;
    for (let number = 0; bytes < row.bytes; number += 1) {
      const content = row.content ?? (await readPiece(connection, hash, number));
      if (content === undefined) return undefined;
      check.update(content);
      text += decoder.decode(content, { stream: true });
      bytes += content.byteLength;
    }
    return check.digest().equals(hash) ? text + decoder.decode() : undefined;
  }

  async function readPiece(
    connection: Connection,
    hash: Buffer,
    number: number,
  ): Promise<Buffer | undefined> {
    const text = `select content from ${pieces} where sha256 = $1 and number = $2`;
    const [row] = await connection.rows<{ readonly content: Buffer }>(text, [hash, number]);
    return row?.content;
  }

  return {
    async put(given) {
      // The caller may change its bytes while they wait for a connection.
      const content = typeof given === "string" ? given : given.slice();
      const { hash, bytes } = await hashOf(content);
      const small = bytes <= CHUNK_BYTES ? Buffer.from(content) : undefined;
      const outcome = await database.use(async (connection) => {
        if (small !== undefined && held === undefined) return putSmall(connection, { hash, content: small });
        await connection.inTransaction(async () => {
          if (small !== undefined) await putSmall(connection, { hash, content: small });
          else await putLarge(connection, { hash, bytes, content });
          await hold(connection, hash);
        });
      });
      if (outcome !== undefined) return outcome;
      onPut?.();
      const sha256 = hash.toString("hex");
      return { status: "stored", handle: sha256, sha256, bytes } satisfies SpillRef;
    },

    async get(handle) {
      if (!isSha256(handle)) return undefined;
      const text = await database.use((connection) => read(connection, Buffer.from(handle, "hex")));
      return typeof text === "string" ? text : undefined;
    },
  };
}

export interface PostgresSpillOptions {
  readonly database: PostgresDatabase;
  /** Who needs what is put: it is never cleaned away before everybody has let go of it. */
  readonly holder?: string;
  /** Called after every put. */
  readonly onPut?: () => void;
}

/** Reading counts as use, noted at most once a minute. */
const READ = (spills: string): string => `
  with used as (
    update ${spills} set used_at = now() where sha256 = $1 and used_at < now() - interval '1 minute'
  )
  select bytes::float8 as bytes, content from ${spills} where sha256 = $1`;

interface Small {
  readonly hash: Buffer;
  readonly content: Buffer;
}

interface Large {
  readonly hash: Buffer;
  readonly bytes: number;
  readonly content: string | Uint8Array;
}

interface SpillRow {
  readonly bytes: number;
  /** Null for one that is kept in pieces. */
  readonly content: Buffer | null;
}

async function hashOf(
  content: string | Uint8Array,
): Promise<{ readonly hash: Buffer; readonly bytes: number }> {
  const pause = createPause(SLICE_MS);
  const hash = createHash("sha256");
  let bytes = 0;
  for (const chunk of byteChunks(content)) {
    hash.update(chunk);
    bytes += chunk.byteLength;
    await pause();
  }
  return { hash: hash.digest(), bytes };
}
