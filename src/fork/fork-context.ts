import type { Transcript } from "../transcript/message.ts";
import { createRenderer } from "../transcript/render.ts";
import type { ForkOptions } from "./fork-options.ts";
import { formatRendered } from "./format-messages-as-context.ts";
import { type ForkResult, processRendered } from "./process-messages-for-fork.ts";

/**
 * What a child inherits, as messages and as one wrapped text: what `processMessagesForFork` and then
 * `formatMessagesAsContext` give, but everything is rendered once.
 */
export function forkContext(messages: Transcript, options: ForkOptions = {}): ForkContext {
  const render = createRenderer();
  const result = processRendered(messages, { ...options, render });
  const { stats } = result;
  return { ...result, ...formatRendered(result.messages, { ...options, stats, render }) };
}

/** The statistics are those of the text. */
export interface ForkContext extends ForkResult {
  readonly text: string;
}
