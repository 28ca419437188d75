import { useEffect, useRef, useState } from "preact/hooks";

/**
 * The newest result of `compute`, and the one before while a newer one is on its way: typing and sliding never wait.
 * It is computed again when one of `inputs` changes; of several changes in a row the last one is.
 */
export function useDeferred<Result>(compute: () => Result, inputs: readonly unknown[]): Result | undefined {
  const [shown, setShown] = useState<Computed<Result>>({});
  const newest = useRef(compute);
  newest.current = compute;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const lastMs = useRef(0);
  useEffect(() => {
    const run = (): void => {
      timer.current = undefined;
      const startMs = performance.now();
      setShown(attempt(newest.current));
      lastMs.current = performance.now() - startMs;
    };
    if (lastMs.current > SLOW_MS) {
      clearTimeout(timer.current);
      timer.current = setTimeout(run, REST_MS);
    } else timer.current ??= setTimeout(run, 0);
  }, inputs);
  useEffect(() => () => clearTimeout(timer.current), []);
  if ("failure" in shown) throw shown.failure;
  return shown.result;
}

type Computed<Result> = { readonly result?: Result } | { readonly failure: unknown };

/** A failure is thrown where the page is drawn, so that the page can say it. */
function attempt<Result>(compute: () => Result): Computed<Result> {
  try {
    return { result: compute() };
  } catch (failure) {
    return { failure };
  }
}

/** What takes longer than this waits until the hand rests. */
const SLOW_MS = 40;
const REST_MS = 120;
