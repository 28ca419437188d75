import { hostname, tmpdir } from "node:os";

/** Replaces everything that names this machine by what a developer's machine could be called. */
export function scrubMachine<T>(value: T, { home, modelUrl, agentUrls }: Machine): T {
  let text = JSON.stringify(value);
  text = text.replaceAll(home, "/home/dev").replaceAll(modelUrl, "http://model.invalid/v1");
  for (const url of agentUrls) text = text.replaceAll(url, "http://opencode.invalid");
  for (const trace of [
    /127\.0\.0\.1/,
    /carryover-opencode-/,
    RegExp(`${tmpdir()}/`),
    RegExp(`\\b${hostname()}\\b`),
  ]) {
    const at = text.search(trace);
    if (at >= 0) throw new Error(`The recording still names this machine: ${text.slice(at - 80, at + 80)}`);
  }
  return JSON.parse(text) as T;
}

export interface Machine {
  readonly home: string;
  readonly modelUrl: string;
  readonly agentUrls: readonly string[];
}
