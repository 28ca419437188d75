import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { isSha256 } from "../../stores/files/clean-outputs.ts";
import { nodeFileSystem, removeQuietly } from "../../stores/files/file-system.ts";
import { createFileOutputStore, outputPath, readOutputFile } from "../../stores/files/output-store.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { asObject } from "../../text/unknown-value.ts";
import type { OutputFailure, OutputRef, OutputStore } from "../../tool-output/output-store.ts";
import type { HostMessage } from "../host/agent-host.ts";

/** Keeps what children inherited, compressed and named by content, so that siblings share it. Never throws. */
export interface RequestStore {
  put(request: StoredRequest): Promise<RequestStored | RequestFailure>;
  /** The same request byte for byte, or why it cannot be had. */
  get(blob: string): Promise<RequestFound | RequestFailure>;
  remove(blob: string): void;
}

/** Messages, and what the request that they were sent in had beside them. */
export interface StoredRequest {
  readonly messages: readonly HostMessage[];
  readonly promptHead?: unknown;
}

interface RequestStored {
  readonly status: "stored";
  readonly blob: string;
}

interface RequestFound extends StoredRequest {
  readonly status: "found";
}

interface RequestFailure {
  readonly status: "failed";
  readonly reason: string;
}

interface RequestStoreOptions {
  readonly root: string;
  readonly now?: () => number;
}

export function createRequestStore({ root, now = Date.now }: RequestStoreOptions): RequestStore {
  const files = createFileOutputStore({ root, now, maxAgeMs: REQUEST_KEPT_MS });
  return requestStoreOn({
    put: async (json) => files.put(await compress(json)),
    async get(blob) {
      const path = outputPath(root, blob);
      const { sha256, bytes } = await readOutputFile(nodeFileSystem, path);
      if (sha256 !== blob) return undefined;
      try {
        nodeFileSystem.touch(path, now());
      } catch {
        // Only its age depends on it.
      }
      return (await decompress(bytes)).toString("utf8");
    },
    remove: (blob) => removeQuietly(nodeFileSystem, outputPath(root, blob)),
  });
}

/** Keeps requests among the outputs of a store that several machines use, which compresses and cleans by itself. */
export function createSharedRequestStore(outputs: OutputStore): RequestStore {
  return requestStoreOn({
    put: (json) => outputs.put(json),
    async get(blob) {
      const json = await outputs.get(blob);
      if (json === undefined) throw new Error("it is not there");
      if (typeof json !== "string") throw new Error(json.reason);
      return json;
    },
    // A child elsewhere may show the same: its age decides.
    remove: () => {},
  });
}

/** Where the text of a request lies. */
interface RequestTexts {
  put(json: string): Promise<OutputRef | OutputFailure>;
  /** Undefined for a damaged one; may throw. */
  get(blob: string): Promise<string | undefined>;
  remove(blob: string): void;
}

function requestStoreOn(texts: RequestTexts): RequestStore {
  const recent = createLruMap<string, StoredRequest>(MAX_IN_MEMORY);
  return {
    async put({ messages, promptHead }) {
      try {
        // A list alone where there is no prompt head, as it was before there were any.
        const json = JSON.stringify(promptHead === undefined ? messages : { messages, promptHead });
        const stored = await texts.put(json);
        if (stored.status === "failed") return { status: "failed", reason: stored.reason };
        // What siblings and a restarted host get is what went through JSON, so this one gets that too.
        recent.set(stored.handle, readRequest(JSON.parse(json)) ?? { messages });
        return { status: "stored", blob: stored.handle };
      } catch (cause) {
        return { status: "failed", reason: String(cause) };
      }
    },
    async get(blob) {
      const known = recent.get(blob);
      if (known !== undefined) return { status: "found", ...known };
      if (!isSha256(blob)) return { status: "failed", reason: "its name is not one of ours" };
      try {
        const json = await texts.get(blob);
        if (json === undefined) return { status: "failed", reason: "the stored copy is damaged" };
        const request = readRequest(JSON.parse(json));
        if (request === undefined) return { status: "failed", reason: "the stored copy is no list" };
        recent.set(blob, request);
        return { status: "found", ...request };
      } catch (cause) {
        return {
          status: "failed",
          reason: `the stored copy cannot be read (${String(cause).slice(0, 200)})`,
        };
      }
    },
    remove(blob) {
      recent.delete(blob);
      if (isSha256(blob)) texts.remove(blob);
    },
  };
}

function readRequest(value: unknown): StoredRequest | undefined {
  if (Array.isArray(value)) return { messages: value as readonly HostMessage[] };
  const { messages, promptHead } = asObject(value);
  return Array.isArray(messages) ? { messages: messages as readonly HostMessage[], promptHead } : undefined;
}

/** How long what children inherited is kept, since its last use. */
export const REQUEST_KEPT_MS: number = 14 * 24 * 3_600_000;
const MAX_IN_MEMORY = 8;

const compress = promisify<string, Buffer>(gzip);
const decompress = promisify<Uint8Array, Buffer>(gunzip);
