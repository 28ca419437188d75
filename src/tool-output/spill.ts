/** Port: keeps the whole of an output that was too long for the context. Must not throw: a failed write is a value. */
export interface SpillStore {
  /** Resolves once the content is safe; the same content gives the same handle. */
  put(content: string | Uint8Array): Promise<SpillRef | SpillFailure>;
  /**
   * The stored text (bytes decoded as UTF-8 with replacement), or undefined when there is none under this handle. A store
   * that cannot tell now, or has only a damaged copy, gives a failure: that is never told as if nothing were there.
   */
  get(handle: string): Promise<string | SpillFailure | undefined>;
}

export interface SpillRef {
  readonly status: "stored";
  readonly handle: string;
  /** SHA-256 over the bytes written, lower-case hex. */
  readonly sha256: string;
  readonly bytes: number;
  /** Where a person or a tool can read it, if the store has such a place. */
  readonly path?: string;
}

export interface SpillFailure {
  readonly status: "failed";
  /** The system's error code, such as ENOSPC. */
  readonly code: string;
  readonly reason: string;
}
