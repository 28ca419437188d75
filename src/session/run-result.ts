import type { EditBatch } from "./edit-batch.ts";

/** What came of running an action. */
export type RunResult =
  | { readonly status: "applied"; readonly batch: EditBatch }
  /** Nothing was changed, and why. */
  | { readonly status: "nothing"; readonly reason: string }
  | { readonly status: "failed"; readonly reason: string }
  | { readonly status: "aborted" }
  /** Decided on a state that is gone: ask for the next action again. */
  | { readonly status: "stale" }
  /** Another action is being run. */
  | { readonly status: "busy" }
  /** Not an action of the session: whoever calls the model has to do it. */
  | { readonly status: "for-the-caller" };
