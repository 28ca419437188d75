import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { installPackage } from "../install-package.ts";

/**
 * The folder with the programs of a PostgreSQL server: one that is here, else Debian's, installed now if that can be done.
 * Undefined, with a line that says so, where there is none; in CI that is an error, since a skipped test proves nothing.
 */
export async function installPostgres(): Promise<string | undefined> {
  const found = findPrograms();
  if (found !== undefined) return found;
  const problem = await installPackage("postgresql");
  const installed = findPrograms();
  if (installed !== undefined) return installed;
  const message = `PostgreSQL is not installed (${problem ?? "its programs were not found"}); on Debian: apt-get install postgresql`;
  if (process.env.CI) throw new Error(message);
  console.log(`skipped: the tests with a real server. ${message}`);
  return undefined;
}

const VERSIONS = "/usr/lib/postgresql";

function findPrograms(): string | undefined {
  const named = process.env.CARRYOVER_POSTGRES_BIN;
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(named === undefined ? [] : [named]),
    ...versions.map((version) => join(VERSIONS, version, "bin")),
    ...configuredFolder(),
  ];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

function configuredFolder(): readonly string[] {
  try {
    const stdio = ["ignore", "pipe", "ignore"] as const;
    return [execFileSync("pg_config", ["--bindir"], { encoding: "utf8", stdio: [...stdio] }).trim()];
  } catch {
    return [];
  }
}
