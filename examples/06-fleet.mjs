// A session moves to another machine: its log and its long outputs are in one PostgreSQL that both use.
import assert from "node:assert/strict";
import { createSession, createSystemClock } from "carryover";
import { createPostgresStores } from "carryover/postgres";

// Such as postgres://user:password@host/database; the package `pg` must be installed.
const connectionString = process.env.CARRYOVER_POSTGRES;
if (connectionString === undefined) {
  console.log("Set CARRYOVER_POSTGRES to the address of a database to run this example.");
  process.exit(0);
}

const output = Array.from({ length: 4_000 }, (_, line) => `line ${line} of the build`).join("\n");
const transcript = [
  { id: "ask", role: "user", parts: [{ type: "text", text: "Build it." }] },
  {
    id: "call",
    role: "assistant",
    finish: "tool-calls",
    parts: [
      {
        type: "tool",
        callId: "call-1",
        tool: "bash",
        input: { command: "make" },
        outcome: { status: "done", output, attachments: [] },
      },
    ],
  },
];

/** What a machine does to take part: the address is all it needs. */
function openMachine() {
  const stores = createPostgresStores({ connectionString, schema: "carryover_example" });
  const limits = { contextTokens: 200_000, outputTokens: 8_000 };
  const session = createSession({ clock: createSystemClock(), ...stores.session("ses_example") }, { limits });
  return { stores, session };
}

// On the first machine the long output is cut, and the whole of it goes to the database.
const first = openMachine();
const opened = await first.stores.open();
assert.equal(opened.status, "open", opened.reason);
await first.session.restore(transcript);
await first.session.prepare();
const shown = JSON.stringify(first.session.messages());
const [, handle] = /handle(?: and sha256)? (\w{64})/.exec(shown) ?? [];
console.log(`The model sees ${shown.length} of ${output.length} characters, and the handle ${handle}.`);
await first.stores.close();

// On the second one the same messages give the same window, and what was cut can be read again.
const second = openMachine();
await second.session.restore(transcript);
assert.equal(JSON.stringify(second.session.messages()), shown);
const recalled = await second.session.recall(handle, { fromLine: 2_001, toLine: 2_001 });
console.log(`Recalled on the second machine: ${recalled.text.trim()}`);
assert.ok(recalled.text.includes("line 2000 of the build"));

// The session is over: nothing is held for it any more, and the next cleaning may take its outputs.
assert.deepEqual(await second.stores.release("ses_example"), { status: "released" });
await second.stores.close();
