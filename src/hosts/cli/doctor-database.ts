import { createLoadPg } from "../../stores/postgres/load-pg.ts";
import { createPostgresStores, type PostgresStores } from "../../stores/postgres/postgres-stores.ts";
import { readForkRecord } from "../../tasks/read-fork-record.ts";
import { hostConfigFolder } from "../opencode/plugin-folder.ts";
import { databaseControlStore, runningPlugins } from "../opencode/window/control-store.ts";
import type { Finding } from "./doctor-finding.ts";
import { counted, shownText } from "./shown-text.ts";
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
    if (opened.status === "open")
      return [
        { check, level: "ok", what: `${DATABASE} answers, and its tables are up to date` },
        ...(await checkRecords(stores)),
      ];
    return [
      {
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

/** Whether what the plugins of all machines have recorded can be read, and how many of them run. */
async function checkRecords(stores: PostgresStores): Promise<Finding[]> {
  const check = "records";
  const records = await stores.recordsBelow("opencode/");
  if ("status" in records)
    return [
      { check, level: "problem", what: `records cannot be read: ${records.reason}`, advice: "Try again." },
    ];
  const damaged = records.filter(({ value }) => value === undefined);
  const forks = records.filter(({ value }) => readForkRecord(value) !== undefined);
  const running = (await runningPlugins(databaseControlStore(stores))) ?? [];
  if (damaged.length === 0)
    return [
      {
        check,
        level: "ok",
        what: `${counted(running.length, "plugin")} at work, ${counted(forks.length, "fork")} recorded, and all records are whole`,
      },
    ];
  return damaged.map(({ scope, id }) => ({
    check,
    level: "problem",
    what: `a record is damaged: ${shownText(`${scope}/${id}`, MAX_NAME_CHARS)}`,
    advice: "It is not used; `carryover purge --all` removes it with everything else, or delete its row.",
  }));
}

const MAX_NAME_CHARS = 160;
