import { either, listOf, oneOf, type Shape, text } from "../text/check.ts";
import {
  isVisibleToModel,
  type Message,
  type MessageId,
  reachesModel,
  type Transcript,
} from "../transcript/message.ts";

/**
 * What the provider that is asked next does about the window by itself. Ours steps aside for that: nothing is cleared
 * where it clears, and nothing is compacted where it compacts. What it refuses is recovered all the same.
 */
export interface ProviderManagement {
  /** `clears`: old tool results; `compacts`: these, and the old part of the conversation. @default nothing */
  readonly acts?: "nothing" | "clears" | "compacts";
  /** Whose compaction blocks it takes back; what it cannot read goes out as our shadow of it. @default everybody's */
  readonly reads?: readonly string[] | "all";
}

/** What a management may be. */
export const MANAGEMENT_SHAPE: Shape<ProviderManagement> = {
  acts: oneOf("nothing", "clears", "compacts"),
  reads: either(oneOf("all"), listOf(text)),
};

/** The compaction of a provider, which stands in an answer for everything before it. */
export interface NativeBlock {
  readonly messageId: MessageId;
  readonly partIndex: number;
  /** Who made it. */
  readonly provider: string;
}

/** The newest compaction of a provider that the model is sent. */
export function findNativeBlock(transcript: Transcript): NativeBlock | undefined {
  for (let index = transcript.length - 1; index >= 0; index--) {
    const message = transcript[index] as Message;
    const block = isVisibleToModel(message) ? nativeBlockOf(message) : undefined;
    if (block !== undefined) return block;
  }
  return undefined;
}

/** The compaction of a provider in a message. */
export function nativeBlockOf({ id, parts }: Message): NativeBlock | undefined {
  const partIndex = parts.findLastIndex((part) => part.native !== undefined && reachesModel(part));
  const provider = parts[partIndex]?.native;
  return provider === undefined ? undefined : { messageId: id, partIndex, provider };
}

/** True for a batch that keeps a shadow of a block, and changes nothing of what the model is sent. */
export function isShadowBatch({ step }: { readonly step: string }): boolean {
  return step === "keep-shadow";
}
