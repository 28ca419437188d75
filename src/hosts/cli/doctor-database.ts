import { createPostgresStores } from "../../stores/postgres/postgres-stores.ts";
import type { Finding } from "./doctor-finding.ts";

/** Whether the database that the plugin is to use can be reached and has our tables; its address is never shown. */
export async function checkDatabase(connectionString: string): Promise<Finding[]> {
  const check = "store";
  const stores = createPostgresStores({ connectionString, retryMs: 0, cleaning: "never" });
  try {
    const opened = await stores.open();
    return [
      opened.status === "open"
        ? {
            check,
            level: "ok",
            what: "the database of the option `store` answers, and its tables are up to date",
          }
        : {
            check,
            level: "problem",
            what: `the database of the option \`store\` cannot be used: ${opened.reason} (${opened.code})`,
            advice: "Correct the address, start the server, or leave the option out to keep files.",
          },
    ];
  } finally {
    await stores.close();
  }
}
