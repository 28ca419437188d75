import { createHash } from "node:crypto";
import type { StoreFailure } from "../../text/failure.ts";
import type { OutputRef, OutputStore } from "../../tool-output/output-store.ts";
import { isSha256 } from "../files/clean-outputs.ts";
import { createPause } from "../files/file-system.ts";
import { byteChunks, CHUNK_BYTES, DAMAGED } from "../files/output-store.ts";
import { type Connection, type PostgresDatabase, storableText } from "./database.ts";

/** An output store for all machines, keyed by the hash of the content. Outputs of a claimant are kept until it releases them. */
export function createPostgresOutputStore({ database, claimant, onPut }: PostgresOutputOptions): OutputStore {
  const outputTable = database.table("outputs");
  const pieces = database.table("output_pieces");
  const claims = database.table("output_claims");
  const claimed = claimant === undefined ? undefined : storableText(claimant);

  /** Output and claim in one statement, so that there is never one without the other. */
  async function putSmall(connection: Connection, { hash, content }: Small): Promise<void> {
    const insert = `
      insert into ${outputTable} as present (sha256, bytes, content) values ($1, $2, $3)
      on conflict (sha256) do update set used_at = now(), bytes = excluded.bytes,
        content = case when sha256(present.content) = present.sha256 then present.content else excluded.content end`;
    const values = [hash, content.byteLength, content];
    if (claimed === undefined) await connection.rows(insert, values);
    else await connection.rows(`with stored as (${insert}) ${claimText("$4")}`, [...values, claimed]);
  }

  /** In pieces, so that no statement and no result is too large. */
  async function putLarge(connection: Connection, { hash, bytes, content }: Large): Promise<void> {
    const text = `
      insert into ${outputTable} (sha256, bytes) values ($1, $2)
      on conflict (sha256) do update set used_at = now(), bytes = excluded.bytes, content = null`;
    await connection.rows(text, [hash, bytes]);
    const present = `select encode(sha256(content), 'hex') as sha256 from ${pieces} where sha256 = $1 order by number`;
    const there = await connection.rows<{ readonly sha256: string }>(present, [hash]);
    // Other pieces than ours are damaged, or cut elsewhere.
    if (there.map((piece) => piece.sha256).join() !== pieceHashes(content).join()) {
      await connection.rows(`delete from ${pieces} where sha256 = $1`, [hash]);
      await putPieces(connection, { hash, content });
    }
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

  /** The text; a failure if a piece is missing or the hash does not match. */
  async function read(connection: Connection, hash: Buffer): Promise<string | StoreFailure | undefined> {
    const [row] = await connection.rows<{ readonly content: Buffer | null }>(READ(outputTable), [hash]);
    if (row === undefined) return undefined;
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const check = createHash("sha256");
    let text = "";
    for await (const content of row.content === null ? piecesOf(connection, hash) : [row.content]) {
      check.update(content);
      text += decoder.decode(content, { stream: true });
    }
    return check.digest().equals(hash) ? text + decoder.decode() : DAMAGED;
  }

  async function* piecesOf(connection: Connection, hash: Buffer): AsyncGenerator<Buffer> {
    const text = `select content from ${pieces} where sha256 = $1 and number = $2`;
    for (let number = 0; ; number += 1) {
      const [piece] = await connection.rows<{ readonly content: Buffer }>(text, [hash, number]);
      if (piece === undefined) return;
      yield piece.content;
    }
  }

  return {
    async put(given) {
      // Copied, since the caller may change the bytes while this waits for a connection.
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
      return { status: "stored", handle: sha256, sha256, bytes } satisfies OutputRef;
    },

    async get(handle) {
      if (!isSha256(handle)) return undefined;
      return database.use((connection) => read(connection, Buffer.from(handle, "hex")));
    },
  };
}

interface PostgresOutputOptions {
  readonly database: PostgresDatabase;
  /** The session that needs the outputs, which are kept until all claimants have released them. */
  readonly claimant?: string;
  /** Called after every put. */
  readonly onPut?: () => void;
}

/** The content is null if it is stored in pieces. Reading updates the time of last use, at most once a minute. */
const READ = (outputTable: string): string => `
  with used as (
    update ${outputTable} set used_at = now() where sha256 = $1 and used_at < now() - interval '1 minute'
  )
  select content from ${outputTable} where sha256 = $1`;

interface Small {
  readonly hash: Buffer;
  readonly content: Buffer;
}

interface Large {
  readonly hash: Buffer;
  readonly bytes: number;
  readonly content: string | Uint8Array;
}

function pieceHashes(content: string | Uint8Array): readonly string[] {
  return Array.from(byteChunks(content), (chunk) => createHash("sha256").update(chunk).digest("hex"));
}

async function hashOf(
  content: string | Uint8Array,
): Promise<{ readonly hash: Buffer; readonly bytes: number }> {
  const pause = createPause();
  const hash = createHash("sha256");
  let bytes = 0;
  for (const chunk of byteChunks(content)) {
    hash.update(chunk);
    bytes += chunk.byteLength;
    await pause();
  }
  return { hash: hash.digest(), bytes };
}
