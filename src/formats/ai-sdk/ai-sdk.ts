import type { BlockAdapter } from "../blocks/block-adapter.ts";
import { type BlockFormat, createBlockFormat } from "../blocks/create-block-format.ts";
import type { Fields } from "../fields.ts";
import type { AiSdkMessage, AiSdkWire } from "./ai-sdk-message.ts";
import { findAiSdkFaults } from "./find-ai-sdk-faults.ts";
import { readAiSdkMessage } from "./read-ai-sdk-message.ts";
import { settleTurn, writeAiSdkMessage, writeCall, writePart, writeResult } from "./write-ai-sdk-message.ts";

/** The messages of Vercel's AI SDK: `ModelMessage[]` of an application, or the prompt that a model receives. */
export const aiSdk: AiSdkFormat = createBlockFormat(adapter(), (wire) =>
  findAiSdkFaults(wire, aiSdk.decode(wire)),
);

export type AiSdkFormat = BlockFormat<AiSdkWire>;

function adapter(): BlockAdapter<AiSdkWire, AiSdkMessage, Fields> {
  return {
    name: "ai-sdk",
    open: (wire) => (Array.isArray(wire) ? wire : []),
    close: (_, items) => items,
    read: readAiSdkMessage,
    write: writeAiSdkMessage,
    writePart,
    writeCall,
    writeResult,
    results: "together",
    merges: () => false,
    settle: settleTurn,
  };
}
