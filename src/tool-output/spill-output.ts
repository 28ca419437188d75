import type { SpillFailure, SpillRef, SpillStore } from "./spill-store.ts";

/** Puts content into the store; whatever goes wrong in there comes back as a failure. */
export async function spillOutput(
  content: string | Uint8Array,
  { store, signal }: SpillPlace,
): Promise<SpillRef | SpillFailure> {
  try {
    return checked(await (signal === undefined ? store.put(content) : untilAborted(store, content, signal)));
  } catch (error) {
    return failure(codeOf(error), error instanceof Error ? error.message : "the store threw");
  }
}

export interface SpillPlace {
  readonly store: SpillStore;
  /** Ends the waiting for a store that does not answer. */
  readonly signal?: AbortSignal | undefined;
}

function untilAborted(
  store: SpillStore,
  content: string | Uint8Array,
  signal: AbortSignal,
): Promise<SpillRef | SpillFailure> {
  if (signal.aborted) return Promise.resolve(ABORTED);
  return new Promise((resolve, reject) => {
    const abort = (): void => resolve(ABORTED);
    signal.addEventListener("abort", abort, { once: true });
    Promise.resolve(store.put(content))
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}

function checked(outcome: SpillRef | SpillFailure | undefined): SpillRef | SpillFailure {
  if (outcome?.status === "stored" && isReference(outcome)) return outcome;
  if (outcome?.status === "failed") return failure(outcome.code, outcome.reason);
  return failure("BAD_ANSWER", "the store answered with neither a reference nor a failure");
}

function isReference({ handle, sha256, bytes }: SpillRef): boolean {
  return typeof handle === "string" && typeof sha256 === "string" && typeof bytes === "number";
}

const ABORTED: SpillFailure = { status: "failed", code: "ABORTED", reason: "the caller stopped waiting" };
const CODE = /^[\w-]{1,40}$/;

function failure(code: unknown, reason: string): SpillFailure {
  return { status: "failed", code: typeof code === "string" && CODE.test(code) ? code : "UNKNOWN", reason };
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}
