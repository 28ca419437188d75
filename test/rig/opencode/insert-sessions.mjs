// Run by Bun: bun run insert-sessions.mjs <database> <imported file> <file ...>
// Writes for each further file the rows that `opencode import` writes, with the session row of the imported one as the
// pattern.

import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";

const [path, ...files] = process.argv.slice(2);
const [imported, ...others] = files.map((file) => JSON.parse(readFileSync(file, "utf8")));
const database = new Database(path);
database.run("PRAGMA busy_timeout = 10000");
const pattern = database.query("SELECT * FROM session WHERE id = ?").get(imported.info.id);

const insert = (table, row) => {
  const names = Object.keys(row);
  const places = names.map(() => "?").join(", ");
  database.query(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${places})`).run(...Object.values(row));
};

database.transaction(() => {
  for (const { info, messages } of others) {
    insert("session", { ...pattern, id: info.id, slug: info.slug, title: info.title });
    for (const message of messages) {
      const { id, sessionID: _, ...data } = message.info;
      const now = { time_created: message.info.time.created, time_updated: Date.now() };
      insert("message", { id, session_id: info.id, ...now, data: JSON.stringify(data) });
      for (const { id: partId, sessionID: _session, messageID, ...part } of message.parts) {
        const row = { id: partId, message_id: messageID, session_id: info.id, ...now };
        insert("part", { ...row, data: JSON.stringify(part) });
      }
    }
  }
})();
