import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import type { OpenCodeClient } from "../../rig/opencode/opencode-client.ts";
import type { Rig } from "./rig.ts";

/** Writes down everything that helps to see why a scenario failed; what cannot be had is left out. */
export async function leaveReport({ folder, rig, requests, cause }: Failure): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const write = (file: string, value: unknown): void =>
    writeFileSync(join(folder, file), typeof value === "string" ? value : JSON.stringify(value, null, 2));
  write("error.txt", cause instanceof Error ? (cause.stack ?? cause.message) : String(cause));
  write("requests.json", requests);
  write("events.json", rig.events);
  write("unused-steps.json", rig.model.unusedSteps());
  write("beyond-this-machine.json", rig.trap.attempts);
  for (const [from, to] of [
    [join(rig.sandbox.root, "server-output.txt"), "server-output.txt"],
    [join(rig.sandbox.home, ".local/share/opencode/log"), "log"],
    [join(rig.sandbox.configFolder, "opencode.json"), "opencode.json"],
  ] as const) {
    if (existsSync(from)) cpSync(from, join(folder, to), { recursive: true });
  }
  const [opencode] = rig.running();
  if (opencode === undefined) return;
  for (const id of await sessionIds(opencode).catch(() => [])) {
    write(`messages-${id}.json`, await opencode.messages(id).catch((error: unknown) => String(error)));
  }
}

/** Where the report of a scenario goes. */
export function reportFolderOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 80);
  return join("reports", "opencode", slug.replace(/^-|-$/g, ""));
}

export interface Failure {
  readonly folder: string;
  readonly rig: Rig;
  readonly requests: readonly ModelRequest[];
  readonly cause: unknown;
}

async function sessionIds(opencode: OpenCodeClient): Promise<readonly string[]> {
  const sessions = (await opencode.call("GET", "/session")) as readonly { readonly id: string }[];
  return sessions.map(({ id }) => id);
}
