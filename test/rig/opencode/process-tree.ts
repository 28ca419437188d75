import { readdirSync, readFileSync } from "node:fs";

/** Ends a process and everything it started, at once; a process that is already gone is no error. */
export function endProcessTree(pid: number | undefined): void {
  if (pid === undefined) return;
  for (const each of [pid, ...descendantsOf(pid)]) {
    try {
      process.kill(each, "SIGKILL");
    } catch {
      // It ended between the listing and now.
    }
  }
}

// A tool that the agent runs has its own process group, so ending a group would leave it behind.
function descendantsOf(pid: number): readonly number[] {
  const children = childrenByParent();
  const found: number[] = [];
  const open = [pid];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const child of children.get(next) ?? []) {
      found.push(child);
      open.push(child);
    }
  }
  return found;
}

function childrenByParent(): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>();
  for (const entry of procEntries()) {
    const parent = parentOf(entry);
    if (parent === undefined) continue;
    const known = children.get(parent);
    if (known) known.push(Number(entry));
    else children.set(parent, [Number(entry)]);
  }
  return children;
}

function procEntries(): readonly string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return []; // Only Linux lists its processes as files; elsewhere the process itself is all we can name.
  }
}

function parentOf(entry: string): number | undefined {
  try {
    const fields = readFileSync(`/proc/${entry}/stat`, "utf8");
    // The program's name stands in brackets and may itself contain any character.
    return Number(fields.slice(fields.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}
