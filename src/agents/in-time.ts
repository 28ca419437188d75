/** What the promise brings, or an error once its time is up; what it does after that is left alone. */
export function inTime<Value>(promise: Promise<Value>, limitMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new Error(`no answer within ${limitMs / 1_000} seconds`));
    const timer = setTimeout(giveUp, limitMs);
    timer.unref?.();
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
