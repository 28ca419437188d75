import type { Block, SessionHead, Turn } from "./session-head.ts";

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
    case "call":
      return { type: "tool_use", id: block.id, name: block.tool, input: block.input };
    case "result":
      return {
        type: "tool_result",
        tool_use_id: block.id,
        content: block.text,
        ...(block.isError && { is_error: true }),
      };
    default:
      return block satisfies never;
  }
}
