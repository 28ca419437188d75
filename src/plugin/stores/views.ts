import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { isSha256 } from "../../stores/files/clean-spills.ts";
import { nodeFileSystem, removeQuietly } from "../../stores/files/file-system.ts";
import { createFileSpillStore, readSpillFile, spillPath } from "../../stores/files/spill-store.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { asObject } from "../../text/unknown-value.ts";
import type { SpillFailure, SpillRef, SpillStore } from "../../tool-output/spill.ts";
import type { HostMessage } from "../host/agent-host.ts";

/** Keeps what children inherited, compressed and named by content, so that siblings share it. Never throws. */
export interface ViewStore {
  put(view: StoredView): Promise<ViewStored | ViewFailure>;
  /** The same view byte for byte, or why it cannot be had. */
  get(blob: string): Promise<ViewFound | ViewFailure>;
  remove(blob: string): void;
}

/** Messages, and what the request that they were sent in had beside them. */
export interface StoredView {
  readonly messages: readonly HostMessage[];
  readonly frame?: unknown;
}

interface ViewStored {
  readonly status: "stored";
  readonly blob: string;
}

interface ViewFound extends StoredView {
  readonly status: "found";
}

interface ViewFailure {
  readonly status: "failed";
  readonly reason: string;
}

interface ViewStoreOptions {
  readonly root: string;
  readonly now?: () => number;
}

export function createViewStore({ root, now = Date.now }: ViewStoreOptions): ViewStore {
  const files = createFileSpillStore({ root, now, maxAgeMs: VIEW_KEPT_MS });
  return viewStoreOn({
    put: async (json) => files.put(await compress(json)),
    async get(blob) {
      const path = spillPath(root, blob);
      const { sha256, bytes } = await readSpillFile(nodeFileSystem, path);
      if (sha256 !== blob) return undefined;
      try {
        nodeFileSystem.touch(path, now());
      } catch {
        // Only its age depends on it.
      }
      return (await decompress(bytes)).toString("utf8");
    },
    remove: (blob) => removeQuietly(nodeFileSystem, spillPath(root, blob)),
  });
}

/** Keeps views among the outputs of a store that several machines use, which compresses and cleans by itself. */
export function createSharedViewStore(spills: SpillStore): ViewStore {
  return viewStoreOn({
    put: (json) => spills.put(json),
    async get(blob) {
      const json = await spills.get(blob);
      if (json === undefined) throw new Error("it is not there");
      if (typeof json !== "string") throw new Error(json.reason);
      return json;
    },
    // A child elsewhere may show the same: its age decides.
    remove: () => {},
  });
}

/** Where the text of a view lies. */
interface ViewTexts {
  put(json: string): Promise<SpillRef | SpillFailure>;
  /** Undefined for a damaged one; may throw. */
  get(blob: string): Promise<string | undefined>;
  remove(blob: string): void;
}

function viewStoreOn(texts: ViewTexts): ViewStore {
  const recent = createLruMap<string, StoredView>(MAX_IN_MEMORY);
  return {
    async put({ messages, frame }) {
      try {
        // A list alone where there is no frame, as it was before there were any.
        const json = JSON.stringify(frame === undefined ? messages : { messages, frame });
        const stored = await texts.put(json);
        if (stored.status === "failed") return { status: "failed", reason: stored.reason };
        // What siblings and a restarted host get is what went through JSON, so this one gets that too.
        recent.set(stored.handle, readView(JSON.parse(json)) ?? { messages });
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
        const view = readView(JSON.parse(json));
        if (view === undefined) return { status: "failed", reason: "the stored copy is no list" };
        recent.set(blob, view);
        return { status: "found", ...view };
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

function readView(value: unknown): StoredView | undefined {
  if (Array.isArray(value)) return { messages: value as readonly HostMessage[] };
  const { messages, frame } = asObject(value);
  return Array.isArray(messages) ? { messages: messages as readonly HostMessage[], frame } : undefined;
}

/** How long what children inherited is kept, since its last use. */
export const VIEW_KEPT_MS: number = 14 * 24 * 3_600_000;
const MAX_IN_MEMORY = 8;

const compress = promisify<string, Buffer>(gzip);
const decompress = promisify<Uint8Array, Buffer>(gunzip);
