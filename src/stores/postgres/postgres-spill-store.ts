import { createHash } from "node:crypto";
import type { SpillRef, SpillStore } from "../../tool-output/spill-store.ts";
import { byteChunks, CHUNK_BYTES } from "../files/byte-chunks.ts";
import { createPause, SLICE_MS } from "../files/pause.ts";
import { isSha256 } from "../files/spill-file.ts";
import type { Connection, PostgresDatabase } from "./postgres-database.ts";
import { storableText } from "./text-key.ts";

/** Keeps spilled outputs by the hash of their bytes, once for all machines; with a claimant, until that releases them. */
export function createPostgresSpillStore({ database, claimant, onPut }: PostgresSpillOptions): SpillStore {
  const spills = database.table("spills");
  const pieces = database.table("spill_pieces");
  const claims = database.table("spill_claims");
  const claimed = claimant === undefined ? undefined : storableText(claimant);

  /** One statement, so that what is claimed is never there without its claim. */
  async function putSmall(connection: Connection, { hash, content }: Small): Promise<void> {
    const insert = `
      insert into ${spills} (sha256, bytes, content) values ($1, $2, $3)
      on conflict (sha256) do update set used_at = now()`;
    const values = [hash, content.byteLength, content];
    if (claimed === undefined) await connection.rows(insert, values);
    else await connection.rows(`with stored as (${insert}) ${claimText("$4")}`, [...values, claimed]);
  }

  /** In pieces, so that no statement and no answer holds the whole. */
  async function putLarge(connection: Connection, { hash, bytes, content }: Large): Promise<void> {
    const text = `
      insert into ${spills} (sha256, bytes) values ($1, $2)
      on conflict (sha256) do update set used_at = now() returning xmax = 0 as "isNew"`;
    const [row] = await connection.rows<{ readonly isNew: boolean }>(text, [hash, bytes]);
    if (row?.isNew === true) await putPieces(connection, { hash, content });
    if (claimed !== undefined) await connection.rows(claimText("$2"), [hash, claimed]);
  }

  const claimText = (claimantValue: string): string =>
    `insert into ${claims} (sha256, claimant) values ($1, ${claimantValue}) on conflict do nothing`;

  async function putPieces(
    connection: Connection,
    { hash, content }: Pick<Large, "hash" | "content">,
  ): Promise<void> {
    let number = 0;
    for (const chunk of byteChunks(content)) {
      const values = [hash, number, Buffer.from(chunk)];
      await connection.rows(`insert into ${pieces} (sha256, number, content) values ($1, $2, $3)`, values);
      number += 1;
    }
  }

  /** The text, or undefined when a piece is missing or the whole is not what was put. */
  async function read(connection: Connection, hash: Buffer): Promise<string | undefined> {
    const [row] = await connection.rows<SpillRow>(READ(spills), [hash]);
    if (row === undefined) return undefined;
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const check = createHash("sha256");
    let text = "";
    for await (const content of contentsOf(connection, { hash, row })) {
      check.update(content);
      text += decoder.decode(content, { stream: true });
    }
    return check.digest().equals(hash) ? text + decoder.decode() : undefined;
  }

  async function* contentsOf(connection: Connection, { hash, row }: FoundSpill): AsyncGenerator<Buffer> {
    if (row.content !== null) {
      yield row.content;
      return;
    }
    const text = `select content from ${pieces} where sha256 = $1 and number = $2`;
    for (let number = 0; ; number += 1) {
      const [piece] = await connection.rows<{ readonly content: Buffer }>(text, [hash, number]);
      if (piece === undefined) return;
      yield piece.content;
    }
  }

  return {
    async put(given) {
      // The caller may change its bytes while they wait for a connection.
      const content = typeof given === "string" ? given : given.slice();
      const { hash, bytes } = await hashOf(content);
      const small = bytes <= CHUNK_BYTES ? Buffer.from(content) : undefined;
      const outcome = await database.use((connection) =>
        small === undefined
          ? connection.inTransaction(() => putLarge(connection, { hash, bytes, content }))
          : putSmall(connection, { hash, content: small }),
      );
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
  /** Who needs what is put: it is never cleaned away before everybody has released it. */
  readonly claimant?: string;
  /** Called after every put. */
  readonly onPut?: () => void;
}

/** Reading counts as use, noted at most once a minute. */
const READ = (spills: string): string => `
  with used as (
    update ${spills} set used_at = now() where sha256 = $1 and used_at < now() - interval '1 minute'
  )
  select content from ${spills} where sha256 = $1`;

interface Small {
  readonly hash: Buffer;
  readonly content: Buffer;
}

interface Large {
  readonly hash: Buffer;
  readonly bytes: number;
  readonly content: string | Uint8Array;
}

interface FoundSpill {
  readonly hash: Buffer;
  readonly row: SpillRow;
}

interface SpillRow {
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
