import { openPostgresStores } from "../../src/stores/postgres/stores.ts";

// Writes once and closes nothing: an idle connection must not keep it alive.
const [connectionString = "", schema = ""] = process.argv.slice(2);
const stored = await openPostgresStores({ connectionString, schema }).outputs.put("text");
process.stdout.write(stored.status);
