import { codeOf } from "../text/failure.ts";

/** Port: keeps the whole of an output that was too long for the context. Must not throw: a failed write is a value. */
export interface OutputStore {
  /** Resolves once the content is safe; the same content gives the same handle. */
  put(content: string | Uint8Array): Promise<OutputRef | OutputFailure>;
  /**
   * The stored text (bytes decoded as UTF-8 with replacement), or undefined when there is none under this handle. A store
   * that cannot tell now, or has only a damaged copy, gives a failure: that is never told as if nothing were there.
   */
  get(handle: string): Promise<string | OutputFailure | undefined>;
}

export interface OutputRef {
  readonly status: "stored";
  readonly handle: string;
  /** SHA-256 over the bytes written, lower-case hex. */
  readonly sha256: string;
  readonly bytes: number;
  /** Where a person or a tool can read it, if the store has such a place. */
  readonly path?: string;
}

export interface OutputFailure {
  readonly status: "failed";
  /** The system's error code, such as ENOSPC. */
  readonly code: string;
  readonly reason: string;
}

/** Puts content into the store; whatever goes wrong in there comes back as a failure. */
export async function saveOutput(
  content: string | Uint8Array,
  { store, signal }: SavePlace,
): Promise<OutputRef | OutputFailure> {
  try {
    return checkAnswer(
      await (signal === undefined ? store.put(content) : untilAborted(store, content, signal)),
    );
  } catch (error) {
    return failure(codeOf(error), error instanceof Error ? error.message : "the store threw");
  }
}

interface SavePlace {
  readonly store: OutputStore;
  /** Ends the waiting for a store that does not answer. */
  readonly signal?: AbortSignal | undefined;
}

function untilAborted(
  store: OutputStore,
  content: string | Uint8Array,
  signal: AbortSignal,
): Promise<OutputRef | OutputFailure> {
  if (signal.aborted) return Promise.resolve(ABORTED);
  return new Promise((resolve, reject) => {
    const abort = (): void => resolve(ABORTED);
    signal.addEventListener("abort", abort, { once: true });
    Promise.resolve(store.put(content))
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}

function checkAnswer(outcome: OutputRef | OutputFailure | undefined): OutputRef | OutputFailure {
  if (outcome?.status === "stored" && isReference(outcome)) return outcome;
  if (outcome?.status === "failed") return failure(outcome.code, outcome.reason);
  return failure("BAD_ANSWER", "the store answered with neither a reference nor a failure");
}

function isReference({ handle, sha256, bytes }: OutputRef): boolean {
  return typeof handle === "string" && typeof sha256 === "string" && typeof bytes === "number";
}

const ABORTED: OutputFailure = { status: "failed", code: "ABORTED", reason: "the caller stopped waiting" };
const CODE = /^[\w-]{1,40}$/;

function failure(code: unknown, reason: string): OutputFailure {
  return { status: "failed", code: typeof code === "string" && CODE.test(code) ? code : "UNKNOWN", reason };
}
