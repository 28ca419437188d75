import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Identifies a process even after its pid is reused: host, pid, and start time if the system tells it. */
export interface ProcessIdentity {
  /** The host name and, on Linux, the pid namespace. */
  readonly host: string;
  readonly pid: number;
  /** Empty if unknown. */
  readonly start: string;
}

/** The identity of this process. */
export function currentProcess(): ProcessIdentity {
  return processOf(process.pid);
}

/** The identity of a process of this machine that runs now. */
export function processOf(pid: number): ProcessIdentity {
  return { host: currentHost(), pid, start: startOf(pid) ?? "" };
}

/** Whether a process still runs; unknown on another machine, or if its start time is unknown. */
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
  // The process name in parentheses may contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // A zombie: it has ended, but its parent has not waited for it yet.
  if (fields[0] === "Z") return "ended";
  // The start time counts from boot, so the boot is part of it.
  return `${readText("/proc/sys/kernel/random/boot_id")?.trim()}/${fields[19]}`;
}

let cachedHost: string | undefined;

// The pid namespace is part of the host: containers may share a host name, but not pids.
function currentHost(): string {
  cachedHost ??= `${hostname()}/${readLinkText("/proc/self/ns/pid")}`;
  return cachedHost;
}

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
