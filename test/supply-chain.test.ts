import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";
import { asObject } from "../src/text/unknown-value.ts";

const root = resolve(import.meta.dirname, "..");
const readJson = (name: string): Readonly<Record<string, unknown>> =>
  asObject(JSON.parse(readFileSync(join(root, name), "utf8")));
const manifest = readJson("package.json");

/** What a bundle of an entry still asks for, and which files of others it holds. */
async function needsOf(
  entry: string,
): Promise<{ readonly imports: readonly string[]; readonly foreign: readonly string[] }> {
  const bundle = await rolldown({
    input: join(root, "src", `${entry}.ts`),
    platform: "neutral",
    // Everything that is not ours stays an import, so that it can be seen.
    external: (id) => !id.startsWith(".") && !id.startsWith("/"),
    logLevel: "silent",
  });
  const { output } = await bundle.generate({ format: "esm" });
  await bundle.close();
  const chunks = output.filter((file) => file.type === "chunk");
  const own = new Set(chunks.map(({ fileName }) => fileName));
  return {
    imports: [
      ...new Set(chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])),
    ].filter((name) => !own.has(name)),
    foreign: chunks.flatMap(({ moduleIds }) => moduleIds).filter((id) => id.includes("node_modules")),
  };
}

describe("the package", () => {
  it("has no runtime dependency; peers are the user's choice", () => {
    for (const name of ["dependencies", "optionalDependencies", "bundleDependencies", "bundledDependencies"])
      expect(manifest[name]).toBeUndefined();
    for (const peer of Object.keys(asObject(manifest.peerDependencies)))
      expect(asObject(manifest.peerDependenciesMeta)[peer]).toEqual({ optional: true });
  });

  it("runs nothing when it is installed", () => {
    const scripts = Object.keys(asObject(manifest.scripts));
    for (const name of ["preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare"])
      expect(scripts).not.toContain(name);
  });

  it("is built from packages that are pinned by content and run nothing when they are installed", () => {
    for (const [place, entry] of Object.entries(asObject(readJson("package-lock.json").packages))) {
      const { integrity, link, hasInstallScript } = asObject(entry);
      if (place === "" || link === true) continue;
      expect([place, typeof integrity, hasInstallScript]).toEqual([place, "string", undefined]);
    }
  });
});

describe("an entry of the library", () => {
  const subpaths = Object.keys(asObject(manifest.exports)).map(
    (name) => name.replace(/^\.\/?/, "") || "index",
  );
  const engine = subpaths.filter(
    (name) => !["node", "openclaw", "postgres", "server", "tui", "testing", "package.json"].includes(name),
  );

  it.each(engine.filter((name) => name !== "ai-sdk" && name !== "langchain"))(
    "%s needs nothing at all",
    async (entry) => {
      expect(await needsOf(entry)).toEqual({ imports: [], foreign: [] });
    },
  );

  it("ai-sdk needs nothing but the user's own ai, whose gateway finds a model that is only named", async () => {
    expect(await needsOf("ai-sdk")).toEqual({ imports: ["ai"], foreign: [] });
  });

  it("langchain needs nothing but what an agent of LangChain has", async () => {
    expect(await needsOf("langchain")).toEqual({
      imports: [
        "@langchain/core/tools",
        "@langchain/langgraph",
        "langchain",
        "zod/v4",
        "@langchain/core/messages",
        "@langchain/core/utils/function_calling",
      ],
      foreign: [],
    });
  });

  it.each(["node", "openclaw"])("%s needs only what Node itself has", async (entry) => {
    const { imports, foreign } = await needsOf(entry);
    expect(imports.filter((name) => !name.startsWith("node:"))).toEqual([]);
    expect(foreign).toEqual([]);
  });
});

it("the terminal half needs only what Node has, the user's database driver, and what OpenCode 2 lends to plugins", async () => {
  const { imports, foreign } = await needsOf("tui");
  expect(imports.filter((name) => !name.startsWith("node:"))).toEqual(["pg", "solid-js", "@opentui/solid"]);
  expect(foreign).toEqual([]);
});

it("the licences of bundled code are listed, as the bundles are now", () => {
  expect(() =>
    execFileSync(process.execPath, ["scripts/licences.mjs", "--check"], { cwd: root }),
  ).not.toThrow();
});

describe("a workflow", () => {
  const folder = join(root, ".github/workflows");
  const workflows = readdirSync(folder).map(
    (name) => [name, readFileSync(join(folder, name), "utf8")] as const,
  );

  it.each(workflows)(
    "%s uses actions by commit, reads by default, and installs without scripts",
    (_, text) => {
      for (const [, action] of text.matchAll(/uses: (\S+)/g))
        expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
      expect(text).toMatch(/^permissions:\n {2}contents: read\n/m);
      for (const [line] of text.matchAll(/npm (?:ci|install)\b.*/g))
        expect(line).toContain("--ignore-scripts");
      expect(text).not.toMatch(/pull_request_target/);
      // An expression inside a script would run whatever its value says.
      for (const [line] of text.matchAll(/run:.*/g)) expect(line).not.toContain("${{");
    },
  );

  it("publishes with provenance, and nowhere else may a token be asked for", () => {
    const publish = new Map(workflows).get("publish.yml") ?? "";
    expect(publish).toContain("npm publish --provenance");
    for (const [name, text] of workflows)
      expect([name, text.includes("id-token: write")]).toEqual([name, name === "publish.yml"]);
  });

  it("runs nothing where a token may be asked for but the upload of what was tested", () => {
    const publish = new Map(workflows).get("publish.yml") ?? "";
    const [packing = "", uploading = ""] = publish.split(/^ {2}publish:$/m);
    expect(packing).toContain("- run: npm test");
    expect(packing).not.toContain("id-token");
    expect(uploading).toContain("needs: pack");
    expect(uploading).not.toContain("contents:");
    const uses = [...uploading.matchAll(/uses: ([\w-]+\/[\w-]+)@/g)].map(([, action]) => action);
    expect(uses).toEqual(["actions/download-artifact", "actions/setup-node"]);
    const runs = [...uploading.matchAll(/run: (.*)/g)].map(([, command]) => command);
    expect(runs).toEqual([
      `test "$(sha256sum package/*.tgz | cut -d ' ' -f 1)" = "$SHA256"`,
      "npm publish --provenance --access public --ignore-scripts ./package/*.tgz",
    ]);
  });
});
