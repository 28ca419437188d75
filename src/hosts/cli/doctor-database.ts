import { createLoadPg } from "../../stores/postgres/load-pg.ts";
import { createPostgresStores } from "../../stores/postgres/postgres-stores.ts";
import { hostConfigFolder } from "../opencode/plugin-folder.ts";
import type { Finding } from "./doctor-finding.ts";
import { DATABASE, packageFolders } from "./with-stores.ts";

/** Whether the database that the plugin is to use can be reached and has our tables; its address is never shown. */
export async function checkDatabase(connectionString: string): Promise<Finding[]> {
  const check = "store";
  const stores = createPostgresStores({
    connectionString,
    retryMs: 0,
    cleaning: "never",
    load: createLoadPg(packageFolders()),
  });
  try {
    const opened = await stores.open();
    return [
      opened.status === "open"
        ? {
            check,
            level: "ok",
            what: `${DATABASE} answers, and its tables are up to date`,
          }
        : {
            check,
            level: "problem",
            what: `${DATABASE} cannot be used: ${opened.reason} (${opened.code})`,
            advice:
              opened.code === "PG_NOT_INSTALLED"
                ? `Run npm install pg in the project or in ${hostConfigFolder(process.env)}.`
                : "Correct the address, start the server, or leave the option out to keep files.",
          },
    ];
  } finally {
    await stores.close();
  }
}
