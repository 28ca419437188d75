import type { Block, ImageBlock, SessionHead, Turn } from "./session-head.ts";

/**
 * A session of Claude Code: one line a turn, each with the id of the one before. Without `uuid`, `parentUuid` or
 * `timestamp` it finds no conversation, or only the last line.
 */
export function writeClaudeCode(
  turns: readonly Turn[],
  { id, cwd, at, newId }: SessionHead,
): readonly object[] {
  let parentUuid: string | null = null;
  return turns.map(({ role, blocks }) => {
    const uuid = newId();
    const line = {
      parentUuid,
      isSidechain: false,
      userType: "external",
      type: role,
      message: { role, content: blocks.map(contentOf) },
      uuid,
      timestamp: new Date(at).toISOString(),
      sessionId: id,
      cwd,
    };
    parentUuid = uuid;
    return line;
  });
}

function contentOf(block: Block): object {
  switch (block.type) {
    case "text":
      return block;
    case "image":
      return imageOf(block);
    case "call":
      return { type: "tool_use", id: block.id, name: block.tool, input: block.input };
    case "result":
      return {
        type: "tool_result",
        tool_use_id: block.id,
        content:
          block.images === undefined || block.images.length === 0
            ? block.text
            : [...textsOf(block.text), ...block.images.map(imageOf)],
        ...(block.isError && { is_error: true }),
      };
    default:
      return block satisfies never;
  }
}

function textsOf(text: string): readonly object[] {
  return text === "" ? [] : [{ type: "text", text }];
}

function imageOf({ mime, base64 }: ImageBlock): object {
  return { type: "image", source: { type: "base64", media_type: mime, data: base64 } };
}
