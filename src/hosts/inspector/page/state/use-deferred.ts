import { useEffect, useRef, useState } from "preact/hooks";

/**
 * The newest result of `compute`, and the one before while a newer one is on its way: typing and sliding never wait.
 * It is computed again when one of `inputs` changes; of several changes in a row the last one is.
 */
export function useDeferred<Result>(compute: () => Result, inputs: readonly unknown[]): Result | undefined {
  const [shown, setShown] = useState<{ readonly result?: Result }>({});
  const newest = useRef(compute);
  newest.current = compute;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const lastMs = useRef(0);
  useEffect(() => {
    const run = (): void => {
      timer.current = undefined;
      const startMs = performance.now();
      const result = newest.current();
      lastMs.current = performance.now() - startMs;
      setShown({ result });
    };
    if (lastMs.current > SLOW_MS) {
      clearTimeout(timer.current);
      timer.current = setTimeout(run, REST_MS);
    } else timer.current ??= setTimeout(run, 0);
  }, inputs);
  useEffect(() => () => clearTimeout(timer.current), []);
  return shown.result;
}

/** What takes longer than this waits until the hand rests. */
const SLOW_MS = 40;
const REST_MS = 120;
