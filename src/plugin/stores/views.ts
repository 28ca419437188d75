import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { isSha256 } from "../../stores/files/clean-spills.ts";
import { nodeFileSystem, removeQuietly } from "../../stores/files/file-system.ts";
import { createFileSpillStore, readSpillFile, spillPath } from "../../stores/files/spill-store.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { asNumber, asObject, asString } from "../../text/unknown-value.ts";
import type { SpillFailure, SpillRef, SpillStore } from "../../tool-output/spill.ts";
import { type CarriedFacts, readCarriedFacts } from "../../transcript/carried-facts.ts";
import type { Handle } from "../../transcript/edit.ts";
import type { HostFormat, HostMessage } from "../host/agent-host.ts";

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

/** Remembers what was last sent for each session, as the very list that the agent sends: later plugins change it in place. */
export interface ViewCapture {
  see(view: StoredView & { readonly sessionId: string }, atMs: number): void;
  lastSent(sessionId: string): CapturedView | undefined;
  forget(sessionId: string): void;
}

interface CapturedView extends StoredView {
  readonly atMs: number;
}

export function createViewCapture(): ViewCapture {
  const views = createLruMap<string, { readonly view: StoredView; readonly atMs: number }>(MAX_SESSIONS);
  return {
    see: (view, atMs) => views.set(view.sessionId, { view, atMs }),
    lastSent(sessionId) {
      const { view, atMs } = views.get(sessionId) ?? {};
      return view === undefined || atMs === undefined
        ? undefined
        : { messages: view.messages, atMs, ...(view.frame !== undefined && { frame: view.frame }) };
    },
    forget: views.delete,
  };
}

/** A long-running agent serves many sessions; only those that ran lately can fork. */
const MAX_SESSIONS = 64;

/** What a compaction of ours took out of a window, and what it left there. */
export interface Fold {
  /** The window before it, as it would have been sent. */
  readonly messages: readonly HostMessage[];
  /** The compaction before it, and how many of the messages come from there. */
  readonly earlier?: { readonly handle: Handle; readonly count: number };
  /** The messages that stay word for word behind the summary. */
  readonly kept: readonly HostMessage[];
  /** The summary without its facts. */
  readonly prose: string;
  /** The whole summary, but for its last line. */
  readonly text: string;
  readonly carried: CarriedFacts | undefined;
}

/** Keeps what compactions of ours folded. The handle of a fold stands at the end of its summary, so nothing else has to be remembered. */
interface Folds {
  /** The handle, or why nothing was kept. */
  put(fold: Fold): Promise<{ readonly handle: Handle } | { readonly reason: string }>;
  get(handle: Handle): Promise<Fold | undefined>;
  /** Everything that was ever folded up to this one, each message once, oldest first. */
  messagesUpTo(handle: Handle): Promise<readonly HostMessage[]>;
  /** The same for every summary of ours among messages that were sent. */
  messagesBefore(sent: readonly HostMessage[]): Promise<readonly HostMessage[]>;
}

export function createFolds({ views, format }: FoldsSetup): Folds {
  const folds: Folds = {
    async put({ messages, ...frame }) {
      const stored = await views.put({ messages, frame });
      return stored.status === "stored" ? { handle: stored.blob } : { reason: stored.reason };
    },
    async get(handle) {
      const found = await views.get(handle);
      return found.status === "found" ? readFold(found) : undefined;
    },
    async messagesUpTo(handle) {
      const pieces: (readonly HostMessage[])[] = [];
      for (let next: Handle | undefined = handle; next !== undefined; ) {
        const fold: Fold | undefined = await folds.get(next);
        if (fold === undefined) break;
        pieces.unshift(fold.messages.slice(fold.earlier?.count ?? 0));
        next = fold.earlier?.handle;
      }
      return pieces.flat();
    },
    async messagesBefore(sent) {
      const handles = (format.checkpoints?.find(sent) ?? []).flatMap(
        ({ summary }) => handleIn(summary) ?? [],
      );
      return (await Promise.all(handles.map(folds.messagesUpTo))).flat();
    },
  };
  return folds;
}

interface FoldsSetup {
  readonly views: ViewStore;
  readonly format: HostFormat;
}

function readFold({ messages, frame }: StoredView): Fold | undefined {
  const { kept, prose, text, carried, earlier } = asObject(frame);
  if (!Array.isArray(kept) || typeof prose !== "string" || typeof text !== "string") return undefined;
  const handle = asString(asObject(earlier).handle);
  return {
    messages,
    kept,
    prose,
    text,
    carried: readCarriedFacts(carried),
    ...(handle !== undefined && { earlier: { handle, count: asNumber(asObject(earlier).count) ?? 0 } }),
  };
}

/** The last line of a summary of ours. */
export function foldLine(handle: Handle, hasRecall: boolean): string {
  const how = hasRecall
    ? "recall gives it by the handles above, by a search, or"
    : "by the handles above, or";
  return `[Everything before this is kept: ${how} whole by ${handle}]`;
}

/** The handle of the fold that a summary stands for; undefined for a summary that is not ours. */
export function handleIn(summary: string): Handle | undefined {
  return FOLD_LINE.exec(summary)?.[1];
}

const FOLD_LINE = /\[Everything before this is kept: .* whole by ([0-9a-f]{64})\]\s*$/;
