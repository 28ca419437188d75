import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import type { HostRig } from "./host-rig.ts";

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
  write("plugin-log.txt", rig.log());
  for (const [from, to] of [
    [join(rig.sandbox.root, "server-output.txt"), "server-output.txt"],
    [join(rig.sandbox.home, ".local/share/opencode/log"), "log"],
    [join(rig.sandbox.configFolder, "opencode.json"), "opencode.json"],
  ] as const) {
    if (existsSync(from)) cpSync(from, join(folder, to), { recursive: true });
  }
  const stored = await rig.dump().catch((error: unknown) => ({ none: String(error) }));
  for (const [id, messages] of Object.entries(stored)) write(`messages-${id}.json`, messages);
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
  readonly rig: HostRig;
  readonly requests: readonly ModelRequest[];
  readonly cause: unknown;
}
