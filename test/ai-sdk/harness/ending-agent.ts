import { createSession, createSystemClock } from "../../../src/index.ts";
import type { Message } from "../../../src/transcript/message.ts";

// An agent whose last summary, begun in the background, never comes. With the argument "wait" it waits for it.
const session = createSession(
  { clock: createSystemClock(), summarizer: { summarize: () => new Promise(() => undefined) } },
  // Only a compaction is begun early; by default this session is pruned.
  { limits: { contextTokens: 40_000, outputTokens: 4_000 }, prune: "off" },
);
const say = (id: number, role: "user" | "assistant", text: string): Message => ({
  id: `m${id}`,
  role,
  parts: [{ type: "text", text }],
  ...(role === "assistant" && { finish: "stop" }),
});
for (let id = 0; session.nextAction({ moment: "after-turn" }).type !== "begin-compaction"; id += 2) {
  session.append(say(id, "user", "Go on."));
  session.append(say(id + 1, "assistant", "steady ".repeat(900)));
}
const action = await session.prepare({ moment: "after-turn" });
console.log(`${action.type}, ${session.ledger().length} in the ledger`);
if (process.argv[2] === "wait") await session.settled();
