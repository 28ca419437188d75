import type { ModelRef } from "../../transcript/message.ts";

/** What a session file says of itself. */
export interface SessionHead {
  /** A UUID of its own. */
  readonly id: string;
  /** The folder of the project, where the receiver goes on. */
  readonly cwd: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly title: string;
  /** The model that goes on. OpenCode 1 asks the one that the newest message names; the others ask the user's own. */
  readonly model?: ModelRef;
  /** A new UUID. */
  readonly newId: () => string;
}

/** A turn of a conversation that every provider takes: calls are answered in the turn behind theirs. */
export interface Turn {
  readonly role: "user" | "assistant";
  readonly blocks: readonly Block[];
}

export type Block = TextBlock | ImageBlock | CallBlock | ResultBlock;

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

export interface ImageBlock {
  readonly type: "image";
  readonly mime: string;
  readonly base64: string;
}

/** An image as the address that holds it. */
export function dataUrl({ mime, base64 }: ImageBlock): string {
  return `data:${mime};base64,${base64}`;
}

export interface CallBlock {
  readonly type: "call";
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}

export interface ResultBlock {
  readonly type: "result";
  readonly id: string;
  readonly tool: string;
  readonly text: string;
  readonly images?: readonly ImageBlock[];
  readonly isError: boolean;
}
