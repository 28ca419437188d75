/** Port: time. The engine has no clock of its own, so that tests decide what time it is. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after a while, or at once when the signal aborts; never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}
