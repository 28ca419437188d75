// Hand a recorded OpenCode session over to a child agent. Run it with: node examples/01-fork-a-session.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { buildForkPreamble, formatMessagesAsContext, processMessagesForFork } from "carryover/documented";
import { opencode } from "carryover/formats";

const session = JSON.parse(readFileSync(new URL("sessions/opencode-session.json", import.meta.url), "utf8"));

const { messages, edits, stats } = processMessagesForFork(opencode.decode(session));
const context = formatMessagesAsContext(messages, stats);
const firstMessageOfTheChild = `${buildForkPreamble(context.stats)}\n\n${context.text}`;

console.log(firstMessageOfTheChild.slice(0, 600));
console.log(`… ${context.stats.totalChars} characters, ${edits.length} edits`);

assert.ok(context.text.length <= 200_000);
assert.equal(context.text.length, context.stats.totalChars);
assert.ok(context.stats.compactionDetected);

// The same decisions as edits on OpenCode's own messages, for a child that is given messages instead of text.
const forChild = opencode.apply(session, edits, { at: Date.now() });
assert.ok(forChild.messages.length < session.messages.length);
