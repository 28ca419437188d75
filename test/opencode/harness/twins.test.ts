import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const folder = resolve(import.meta.dirname, "..");
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".scenario.ts"))
  .map((file) => ({ file, text: readFileSync(join(folder, file), "utf8") }));

/** TypeScript makes sure that a scenario with an option has a `why` and a `twin`; this makes sure that the twin is one. */
describe("scenarios that set an option", () => {
  const named = files.flatMap(({ file, text }) =>
    [...text.matchAll(/\btwin: ("(?:[^"\\]|\\.)*")/g)].map(([, name = ""]) => ({
      file,
      name: JSON.parse(name) as string,
    })),
  );

  it("name a scenario that plays with default options", () => {
    expect(named.length).toBeGreaterThan(5);
    const wrong = named.filter(({ name }) => !files.some(({ text }) => isDefaultScenario(text, name)));
    expect(wrong).toEqual([]);
  });

  it("say in words why they do, and why there is no twin where there is none", () => {
    const reasons = files.flatMap(({ file, text }) =>
      [...text.matchAll(/\b(?:why|none): (["'`])(.*?)\1/g)].map(([, , reason = ""]) => ({ file, reason })),
    );
    expect(reasons.filter(({ reason }) => reason.split(" ").length < 4)).toEqual([]);
  });
});

/** True when a file has a scenario of this name whose options, or those of the rig it shares, are the default ones. */
function isDefaultScenario(text: string, name: string): boolean {
  const at = text.search(new RegExp(`(?<!twin: )${escapeRegExp(JSON.stringify(name))}`));
  if (at === -1) return false;
  const options = text.slice(at, text.indexOf("async (", at));
  if (/\bshared\b/.test(options)) {
    const start = text.lastIndexOf("shareRig(", at);
    return isDefault(text.slice(start, text.indexOf(");\n", start)));
  }
  return isDefault(options);
}

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** A probe may load the plugin too, without options. */
function isDefault(options: string): boolean {
  return !/\bwhy:/.test(options) && /\bplugin: \{\}|\bprobes:/.test(options);
}
