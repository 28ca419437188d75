import { hashText } from "../text/hash-text.ts";
import { CONTEXT_TAG } from "../transcript/render.ts";

/** The wrapper around inherited messages. */
export interface ContextFrame {
  /** The opening tag, and a line that says how many earlier messages are missing. */
  open(removedMessages: number): string;
  readonly close: string;
  /** Length of everything around the messages. */
  chars(removedMessages: number): number;
}

/** The wrapper of a session; with a session id its tag carries a short name derived from it. */
export function createContextFrame(sessionId: string | undefined): ContextFrame {
  const tag =
    sessionId === undefined ? `<${CONTEXT_TAG}>` : `<${CONTEXT_TAG} n="${hashText(sessionId).toString(36)}">`;
  const close = `\n</${CONTEXT_TAG}>`;
  const open = (removedMessages: number) =>
    removedMessages === 0 ? tag : `${tag}\n[${removedMessages} earlier ${plural(removedMessages)} omitted]`;
  return { open, close, chars: (removedMessages) => open(removedMessages).length + close.length };
}

function plural(count: number): string {
  return count === 1 ? "message" : "messages";
}
