/** What is sent in one request; each text counts one token a character. */
export interface Sent {
  readonly tools: readonly string[];
  readonly system: string;
  readonly messages: readonly string[];
  readonly model: string;
  /** Since the request before. */
  readonly pauseMinutes: number;
  /** The provider forgets what it was sent before. */
  readonly forgets?: true;
  readonly thinking?: string;
  /** A compaction was done before it. */
  readonly compacted?: true;
  /** What Claude Code notes before it. */
  readonly noted?: string;
}

/** A conversation of three messages. */
export const START: Sent = {
  tools: ["Bash".padEnd(3_000, "."), "Read".padEnd(2_000, ".")],
  system: "You are an agent.".padEnd(5_000, "."),
  messages: [text("u1", 4_000), text("a1", 4_000), text("u2", 4_000)],
  model: "claude-opus-4-6",
  pauseMinutes: 1,
};

/** A message of a length. */
export function text(name: string, chars: number): string {
  return name.padEnd(chars, ".");
}

/** The next request of the same conversation: an answer and a result later. */
export function next(sent: Sent, number: number): Sent {
  const messages = [...sent.messages, text(`a${number}`, 500), text(`u${number}`, 500)];
  return { ...sent, messages, pauseMinutes: 1 };
}

/** The lines of a Claude Code session that sends these, and the usage of a provider that caches what it has read. */
export function linesOf(
  requests: readonly Sent[],
  records: "recorded" | "unrecorded" = "recorded",
): readonly unknown[] {
  let nowMs = Date.parse("2026-11-16T10:00:00Z");
  let cached: { readonly model: string; readonly blocks: readonly string[] } | undefined;
  let parentUuid: string | null = null;
  const lines: unknown[] = [];
  const say = (line: object, uuid: string): void => {
    lines.push({ ...line, uuid, parentUuid, timestamp: new Date(nowMs).toISOString() });
    parentUuid = uuid;
  };
  for (const [index, sent] of requests.entries()) {
    nowMs += sent.pauseMinutes * 60_000;
    if (sent.compacted) {
      lines.push({
        type: "system",
        subtype: "compact_boundary",
        uuid: `c${index}`,
        parentUuid: null,
        logicalParentUuid: parentUuid,
      });
      parentUuid = `c${index}`;
    }
    if (sent.noted) say({ type: "system", subtype: sent.noted }, `n${index}`);
    say({ type: "user", message: { role: "user", content: `${index}` } }, `u${index}`);
    const blocks = [...sent.tools, sent.system, ...sent.messages];
    const isWarm = cached?.model === sent.model && sent.pauseMinutes <= 5 && !sent.forgets;
    const shared = isWarm ? blocks.findIndex((block, at) => cached?.blocks[at] !== block) : 0;
    const read = size(blocks.slice(0, shared === -1 ? blocks.length : shared));
    cached = { model: sent.model, blocks };
    const shapeHash = `${sent.tools}|${sent.system}`;
    if (records === "recorded")
      lines.push(
        {
          type: "api-request-shape",
          shapeHash,
          shape: {
            tools: sent.tools.map((tool) => ({ name: tool.slice(0, 4), description: tool })),
            system: [{ type: "text", text: sent.system }],
          },
        },
        ...sent.messages.map((message) => ({ type: "api-request-blob", hash: message, message })),
        {
          type: "api-request",
          id: `r${index}`,
          keep: 0,
          tail: sent.messages,
          shapeHash,
          timestamp: new Date(nowMs).toISOString(),
          params: { model: sent.model, thinking: sent.thinking },
        },
      );
    say(
      {
        type: "assistant",
        requestRef: `r${index}`,
        message: {
          id: `msg_${index}`,
          role: "assistant",
          model: sent.model,
          content: [{ type: "text", text: "…" }],
          usage: {
            input_tokens: 3,
            output_tokens: 100,
            cache_read_input_tokens: read,
            cache_creation_input_tokens: size(blocks) - read,
          },
        },
      },
      `a${index}`,
    );
  }
  return lines;
}

/** How many tokens they have together. */
export function size(blocks: readonly string[]): number {
  return blocks.reduce((sum, { length }) => sum + length, 0);
}
