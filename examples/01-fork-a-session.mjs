// Hand a recorded OpenCode session over to a child agent. Run it with: node examples/01-fork-a-session.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { forkContext } from "carryover";
import { opencode } from "carryover/formats";

const session = JSON.parse(readFileSync(new URL("sessions/opencode-session.json", import.meta.url), "utf8"));

const { preamble, text, edits, stats } = forkContext(opencode.decode(session));
const firstMessageOfTheChild = `${preamble}\n\n${text}`;

console.log(firstMessageOfTheChild.slice(0, 600));
console.log(`… ${stats.totalChars} characters, ${edits.length} edits`);

assert.ok(text.length <= 200_000);
assert.equal(text.length, stats.totalChars);
assert.ok(stats.compactionDetected);

// The same decisions as edits on OpenCode's own messages, for a child that is given messages instead of text.
const forChild = opencode.apply(session, edits, { at: Date.now() });
assert.ok(forChild.messages.length < session.messages.length);
