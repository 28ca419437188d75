import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

/** The room table of the design: what each room may import. A change here is a design decision: explain it in docs/decisions. */
const ENGINE = [
  "text",
  "transcript",
  "stages",
  "fork",
  "compaction",
  "tool-output",
  "session",
  "tasks",
  "formats",
];
const MAY_USE: Readonly<Record<string, readonly string[]>> = {
  text: [],
  transcript: ["text"],
  stages: ["transcript", "text"],
  fork: ["stages", "transcript", "text"],
  compaction: ["stages", "transcript", "text"],
  "tool-output": ["text"],
  session: ["compaction", "tool-output", "stages", "transcript", "text"],
  tasks: ["transcript", "text"],
  formats: ["transcript", "text"],
  stores: ["tool-output", "compaction", "session", "tasks"],
  eval: [...ENGINE, "stores"],
  hosts: [...ENGINE, "stores", "eval"],
  testing: [...ENGINE, "stores", "eval"],
};
/** Rooms that may touch the world. */
const WORLDLY = ["stores", "hosts", "testing", "eval"];
/** What a store may import of a port's room: the port, and nothing that decides. */
const PORTS = [
  "tool-output/spill-store.ts",
  "compaction/clock.ts",
  "session/journal.ts",
  "tasks/record-store.ts",
];
const MAX_LINES = 400;

const src = resolve(import.meta.dirname, "../src");
const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
const product = files.filter((file) => !file.endsWith(".test.ts"));

const roomOf = (file: string) => (file.includes("/") ? file.slice(0, file.indexOf("/")) : "entry");

function importsOf(file: string): readonly string[] {
  const code = readFileSync(join(src, file), "utf8");
  const matches = code.matchAll(
    /^(?:import|export)\s[^"';]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm,
  );
  return [...matches].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

const inner = (file: string) =>
  importsOf(file)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => relative(src, resolve(src, dirname(file), specifier)));

describe("the rooms", () => {
  it("are those of the design", () => {
    const rooms = new Set(files.map(roomOf));
    rooms.delete("entry");
    expect([...rooms].filter((room) => MAY_USE[room] === undefined)).toEqual([]);
  });

  it.each(product.filter((file) => roomOf(file) !== "entry"))(
    "%s imports only what its room may use",
    (file) => {
      const room = roomOf(file);
      const allowed = [room, ...(MAY_USE[room] ?? [])];
      expect(inner(file).filter((target) => !allowed.includes(roomOf(target)))).toEqual([]);
      if (room === "stores") {
        const foreign = inner(file).filter((target) => roomOf(target) !== "stores");
        expect(foreign.filter((target) => !PORTS.includes(target))).toEqual([]);
      }
    },
  );

  it.each(product.filter((file) => roomOf(file) !== "entry" && !WORLDLY.includes(roomOf(file))))(
    "%s is pure: no node, no packages, no clock, no chance",
    (file) => {
      expect(importsOf(file).filter((specifier) => !specifier.startsWith("."))).toEqual([]);
      const code = readFileSync(join(src, file), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
      expect(code).not.toMatch(
        /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|process\.|Buffer\.|fetch\(|setTimeout|crypto\.)/,
      );
    },
  );

  it("have no import cycle", () => {
    const state = new Map<string, "open" | "done">();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === "done") return;
      if (state.get(file) === "open") {
        cycles.push([...path.slice(path.indexOf(file)), file].join(" → "));
        return;
      }
      state.set(file, "open");
      for (const target of inner(file)) if (files.includes(target)) visit(target, [...path, file]);
      state.set(file, "done");
    };
    for (const file of product) visit(file, []);
    expect(cycles).toEqual([]);
  });

  it.each(files)(`%s has at most ${MAX_LINES} lines`, (file) => {
    expect(readFileSync(join(src, file), "utf8").split("\n").length).toBeLessThanOrEqual(MAX_LINES + 1);
  });

  it.each(product)("%s exports by name", (file) => {
    const isEntryOfHost = file === "server.ts" || file.startsWith("hosts/opencode/");
    if (!isEntryOfHost)
      expect(readFileSync(join(src, file), "utf8")).not.toMatch(/^export default|^export \*/m);
  });
});
