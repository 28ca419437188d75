import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

/** The room table of the design: what each room may import. A change here is a design decision: explain it in docs/decisions. */
const ENGINE = [
  "text",
  "models",
  "transcript",
  "stages",
  "fork",
  "compaction",
  "tool-output",
  "session",
  "formats",
];
const MAY_USE: Readonly<Record<string, readonly string[]>> = {
  text: [],
  // Facts about models: windows, prices, caches, tokens. Nothing else in src knows any.
  models: ["text"],
  transcript: ["models", "text"],
  stages: ["models", "transcript", "text"],
  fork: ["stages", "models", "transcript", "text"],
  compaction: ["stages", "models", "transcript", "text"],
  "tool-output": ["text"],
  session: ["compaction", "tool-output", "stages", "models", "transcript", "text"],
  // What `encode` writes is repaired as every request is.
  formats: ["stages", "models", "transcript", "text"],
  // A session is read by one format and written as another, in the size that a fork would inherit.
  handoff: ["formats", "fork", "stages", "models", "transcript", "text"],
  // What the files of agents record of their requests, and what a provider's cache made of them.
  cost: ["formats", "stages", "models", "transcript", "text"],
  stores: ["tool-output", "compaction", "session", "fork", "text"],
  // It opens the drivers of its stores itself, since the option `store` is the same in every agent; messages reach it through its port.
  plugin: [
    "session",
    "tool-output",
    "compaction",
    "fork",
    "stages",
    "models",
    "transcript",
    "text",
    "stores",
  ],
  // What several coding agents share. The child of a fork is written as a session is handed over.
  agents: [...ENGINE, "handoff", "cost", "stores", "plugin"],
  // A session in front of a model: what the AI SDK, LangChain and OpenClaw share. The clock is a store's.
  middleware: [...ENGINE, "stores"],
  hosts: [...ENGINE, "handoff", "cost", "stores", "plugin", "agents", "middleware"],
  eval: [...ENGINE, "stores"],
  inspector: [...ENGINE, "cost", "stores", "plugin", "eval"],
  cli: [...ENGINE, "handoff", "cost", "stores", "plugin", "eval", "inspector", "agents", "hosts"],
  testing: [...ENGINE, "stores"],
};
/** Rooms that may touch the world. */
const WORLDLY = ["stores", "plugin", "agents", "middleware", "hosts", "testing", "eval", "inspector", "cli"];
/** What a store may import of the engine: ports, and texts of errors; nothing that decides. */
const PORTS = [
  "tool-output/output-store.ts",
  "compaction/ports/summarizer.ts",
  "session/journal.ts",
  "fork/life/record-store.ts",
];

const src = resolve(import.meta.dirname, "../src");
const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
const product = files.filter((file) => !file.endsWith(".test.ts"));
const inRooms = product.filter((file) => file.includes("/"));

const roomOf = (file: string) => (file.includes("/") ? file.slice(0, file.indexOf("/")) : "entry");
const textOf = (file: string) => readFileSync(join(src, file), "utf8");

function importsOf(file: string): readonly string[] {
  const matches = textOf(file).matchAll(
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
    const rooms = new Set(inRooms.map(roomOf));
    expect([...rooms].filter((room) => MAY_USE[room] === undefined)).toEqual([]);
  });

  it("import only what the table allows", () => {
    const wrong = inRooms.flatMap((file) => {
      const allowed = [roomOf(file), ...(MAY_USE[roomOf(file)] ?? [])];
      return inner(file)
        .filter((target) => !allowed.includes(roomOf(target)))
        .map((target) => `${file} → ${target}`);
    });
    expect(wrong).toEqual([]);
  });

  it("are driven by stores through ports alone", () => {
    const wrong = inRooms
      .filter((file) => roomOf(file) === "stores")
      .flatMap((file) =>
        inner(file)
          .filter((target) => !["stores", "text"].includes(roomOf(target)) && !PORTS.includes(target))
          .map((target) => `${file} → ${target}`),
      );
    expect(wrong).toEqual([]);
  });

  it("of hosts know no other host: what two share lies in a room below them", () => {
    const hostOf = (file: string) => file.split("/")[1] ?? "";
    const wrong = inRooms
      .filter((file) => roomOf(file) === "hosts")
      .flatMap((file) =>
        inner(file)
          .filter((target) => roomOf(target) === "hosts" && hostOf(target) !== hostOf(file))
          .map((target) => `${file} → ${target}`),
      );
    expect(wrong).toEqual([]);
  });

  it("leave facts about models to one of them", () => {
    const named =
      /\b(?:claude-(?:opus|sonnet|haiku|fable)|gpt-\d|gemini-\d[.-]|deepseek-|grok-\d|kimi-k|glm-\d)/;
    const code = (file: string) => textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    const others = inRooms.filter((file) => roomOf(file) !== "models" && named.test(code(file)));
    // An example of a command line, the model whose prices a bench counts by, and the names of the token families.
    expect(others.toSorted()).toEqual([
      "cli/compact/compact.ts",
      "eval/measures/loop-policies.ts",
      "text/tokens/estimate-tokens.ts",
    ]);
  });

  it("of the engine are pure: no node, no packages, no clock, no chance", () => {
    const engine = inRooms.filter((file) => !WORLDLY.includes(roomOf(file)));
    const packages = engine.flatMap((file) =>
      importsOf(file)
        .filter((specifier) => !specifier.startsWith("."))
        .map((specifier) => `${file} → ${specifier}`),
    );
    expect(packages).toEqual([]);
    const world =
      /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|process\.|Buffer\.|fetch\(|setTimeout|crypto\.)/;
    const code = (file: string) => textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    expect(engine.filter((file) => world.test(code(file)))).toEqual([]);
  });
});

describe("the files", () => {
  it("have no import cycle", () => {
    expect(cyclesOf(product, inner)).toEqual([]);
  });

  it("lie in folders that have no import cycle either", () => {
    const targets = new Map<string, Set<string>>();
    for (const file of inRooms) {
      const folder = dirname(file);
      const known = targets.get(folder) ?? new Set();
      targets.set(folder, known);
      for (const target of inner(file)) if (dirname(target) !== folder) known.add(dirname(target));
    }
    expect(cyclesOf([...targets.keys()], (folder) => [...(targets.get(folder) ?? [])])).toEqual([]);
  });

  it("export by name", () => {
    // Programs of others load these by their default.
    const named = product.filter((file) => !["openclaw.ts", "server.ts", "tui.ts"].includes(file));
    expect(named.filter((file) => /^export default|^export \*/m.test(textOf(file)))).toEqual([]);
  });
});

function cyclesOf(
  nodes: readonly string[],
  targetsOf: (node: string) => readonly string[],
): readonly string[] {
  const known = new Set(nodes);
  const state = new Map<string, "open" | "done">();
  const cycles: string[] = [];
  const visit = (node: string, path: readonly string[]): void => {
    if (state.get(node) === "done") return;
    if (state.get(node) === "open") {
      cycles.push([...path.slice(path.indexOf(node)), node].join(" → "));
      return;
    }
    state.set(node, "open");
    for (const target of targetsOf(node)) if (known.has(target)) visit(target, [...path, node]);
    state.set(node, "done");
  };
  for (const node of nodes) visit(node, []);
  return cycles;
}
