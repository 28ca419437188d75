/** Port: time. The engine has no clock of its own, so that tests decide what time it is. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Resolves after a while, or at once when the signal aborts; never rejects. `unheld`: it bounds something that nobody
   * waits for, so that it must not keep the process alive.
   */
  sleep(ms: number, signal: AbortSignal, process?: "held" | "unheld"): Promise<void>;
}
