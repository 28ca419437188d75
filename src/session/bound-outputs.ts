import { isTextBlock, type ToolContentBlock } from "../tool-output/tool-content-block.ts";
import { truncateToolContent } from "../tool-output/truncate-tool-content.ts";
import type { Edit, Handle } from "../transcript/edit.ts";
import type { Message } from "../transcript/message.ts";
import { outcomeText, type ToolPart, withText } from "../transcript/part.ts";
import { handleOf } from "../transcript/tool-results.ts";
import type { SessionCore } from "./session-core.ts";

/** Bounds outputs of the window one after another; what is left out goes into the spill store, if there is one. */
export async function boundOutputs(
  { line, options, ports, memory }: SessionCore,
  handles: readonly Handle[],
  signal: AbortSignal,
): Promise<readonly Edit[]> {
  const wanted = new Set(handles);
  const { limits } = memory.unbounded;
  const edits: Edit[] = [];
  for (const message of line.transcript()) {
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.type !== "tool" || !wanted.has(handleOf(message, partIndex)) || signal.aborted) continue;
      const text = outcomeText(part.outcome);
      const { blocks, handle, truncated } = await truncateToolContent<ToolContentBlock>(
        [{ type: "text", text }],
        limits,
        ports.spills,
        {
          signal,
          ...(options.redaction !== "off" && options.redactOutputs === "on" && { redact: options.redaction }),
        },
      );
      const texts = blocks.map((block) => (isTextBlock(block) ? block.text : ""));
      if (ports.spills === undefined) texts.push(keptNotice(handleOf(message, partIndex)));
      const shown = texts.join("\n");
      if (truncated) edits.push(replace({ message, partIndex, part, text, shown, spill: handle }));
    }
  }
  return edits;
}

/** Without a store the transcript itself has the whole output, under the handle of the part. */
function keptNotice(handle: Handle): string {
  return `[Full output kept: handle ${handle}. Read parts of it with the recall tool and this handle.]`;
}

interface Bounded {
  readonly message: Message;
  readonly partIndex: number;
  readonly part: ToolPart;
  readonly text: string;
  readonly shown: string;
  readonly spill: Handle | undefined;
}

function replace({ message, partIndex, part, text, shown, spill }: Bounded): Edit {
  const omittedChars = Math.max(0, text.length - shown.length);
  return {
    type: "replace-part",
    messageId: message.id,
    partIndex,
    part: {
      ...part,
      outcome: withText(part.outcome, shown),
      cut: { method: "head-tail", originalChars: text.length, omittedChars, limitChars: shown.length },
    },
    stage: "tool-output",
    reason: "oversize",
    omitted: { chars: omittedChars, handle: spill ?? handleOf(message, partIndex) },
  };
}
