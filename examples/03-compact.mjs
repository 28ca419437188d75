// Keep a long session within its window: the session says what is due, does it, and can show, recall and undo it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createMemoryJournal, createSession, createSystemClock } from "carryover";
import { opencode } from "carryover/formats";

const recorded = JSON.parse(readFileSync(new URL("sessions/opencode-session.json", import.meta.url), "utf8"));

// The recorded session goes on for a while: more than a small model's window holds.
const words = (count) => Array.from({ length: count }, (_, index) => `word${index % 97}`).join(" ");
const more = Array.from({ length: 12 }, (_, turn) => [
  {
    id: `ask-${turn}`,
    role: "user",
    parts: [{ type: "text", text: `Question ${turn}: what does module ${turn} do?` }],
  },
  {
    id: `say-${turn}`,
    role: "assistant",
    finish: "stop",
    parts: [{ type: "text", text: `Module ${turn}: ${words(400)}` }],
  },
]).flat();
const transcript = [...opencode.decode(recorded), ...more];

// Any model can write the summary; this one is scripted.
let calls = 0;
const summarizer = {
  async summarize() {
    calls += 1;
    return "## Goal\nUnderstand every module.\n## Progress\nModules 0 to 11 were explained one by one.";
  },
};
const clock = createSystemClock();
const events = [];
const session = createSession(
  { clock, summarizer, journal: createMemoryJournal() },
  {
    limits: { contextTokens: 12_000, outputTokens: 2_000 },
    onEvent: (event) => events.push(event),
  },
);

// The host owns the messages; the session only looks.
session.observe(transcript);
const before = session.messages();
console.log(`${before.length} messages, about ${session.status().tokens} tokens`);
assert.ok(!session.nextAction().fits);

// Everything the session can do by itself; what comes back is for whoever calls the model.
const ready = await session.prepare();
assert.deepEqual(ready, { type: "none", reason: "under-limit", fits: true });
const after = session.messages();
console.log(`${after.length} messages, about ${session.status().tokens} tokens, after:`);
for (const { step, reason, tokensBefore, tokensAfter } of session.ledger())
  console.log(`  ${step} (${reason}): ${tokensBefore} -> ${tokensAfter}`);
assert.ok(after.length < before.length);
assert.ok(calls >= 1);
assert.ok(JSON.stringify(after).includes("Understand every module."));

// The last question stands word for word, and what was summarized is hidden, not deleted.
assert.ok(JSON.stringify(after).includes("Question 11"));
const found = await session.recall({ search: "Question 2:" });
assert.equal(found.status, "matches");
const recalled = await session.recall("say-2");
assert.ok(recalled.status === "found" && recalled.text.startsWith("Module 2:"));

// Every start has its end, and every step can be taken back, exactly.
const count = (type) => events.filter((event) => event.type === type).length;
assert.equal(count("compaction_start"), count("compaction_end"));
while ((await session.undo()).status === "undone");
assert.deepEqual(session.messages(), before);
console.log("Undone: the window is what it was.");
