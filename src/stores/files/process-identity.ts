import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Names one process beyond the life of its number: where it runs, its pid, and when it started if the system tells. */
export interface ProcessIdentity {
  readonly host: string;
  readonly pid: number;
  /** Empty where the system does not tell. */
  readonly start: string;
}

/** The identity of this process. */
export function currentProcess(): ProcessIdentity {
  return { host: currentHost(), pid: process.pid, start: startOf(process.pid) ?? "" };
}

/** Whether that process still runs; unknown for another machine, and for a pid whose start the system does not tell. */
export function processState(identity: ProcessIdentity): "running" | "gone" | "unknown" {
  if (identity.host !== currentHost()) return "unknown";
  if (!Number.isSafeInteger(identity.pid) || identity.pid <= 0) return "unknown";
  if (!answersSignal(identity.pid)) return "gone";
  const start = startOf(identity.pid);
  if (identity.start === "" || start === undefined) return "unknown";
  return start === identity.start ? "running" : "gone";
}

function answersSignal(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function startOf(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name in parentheses may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // A killed process whose parent has not looked yet still has its number.
  if (fields[0] === "Z") return "ended";
  // Ticks since boot, so two boots must be told apart.
  return `${readText("/proc/sys/kernel/random/boot_id")?.trim()}/${fields[19]}`;
}

// Containers may share a folder and a host name, but number their processes apart.
function currentHost(): string {
  cachedHost ??= `${hostname()}/${readLinkText("/proc/self/ns/pid")}`;
  return cachedHost;
}

let cachedHost: string | undefined;

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function readLinkText(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
