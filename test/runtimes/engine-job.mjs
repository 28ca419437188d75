/** One job through the engine that every runtime must do with the same result: fork, prune, redact, estimate, a session. */
export async function engineJob(engine) {
  const messages = Array.from({ length: 60 }, (_, index) => ({
    id: `m${index}`,
    role: index % 2 === 0 ? "user" : "assistant",
    parts:
      index % 2 === 0
        ? [{ type: "text", text: `Question ${index} – 图 🙂` }]
        : [
            {
              type: "tool",
              callId: `c${index}`,
              tool: "bash",
              input: { command: `make ${index}` },
              outcome: { status: "done", output: `line ${index}\n`.repeat(800), attachments: [] },
            },
          ],
  }));
  const { messages: kept, stats } = engine.processMessagesForFork(messages);
  const { text } = engine.formatMessagesAsContext(kept, stats);
  const session = engine.createSession({ clock: { now: () => 0, sleep: async () => {} } });
  session.observe(messages);
  return {
    preamble: engine.buildForkPreamble(stats),
    textChars: text.length,
    pruned: engine.prune(messages).edits.length,
    tokens: engine.estimateTokens(text),
    redacted: engine.redactSecrets("token ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    sessionTokens: session.status().estimate.tokens,
    next: session.nextAction().type,
  };
}
