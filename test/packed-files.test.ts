import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");

interface Packed {
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

/** What `npm publish` would send. */
const [packed] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--ignore-scripts", "--json"], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    shell: process.platform === "win32",
  }),
) as readonly [Packed];
const paths = packed.files.map(({ path }) => path);
const readPacked = (path: string): string => readFileSync(join(root, path), "utf8");
const pages = paths.filter((path) => path.endsWith(".md"));

interface Link {
  readonly page: string;
  readonly target: string;
}

function linksOf(page: string): readonly Link[] {
  const text = readPacked(page).replace(/^```[\s\S]*?^```/gm, "");
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => ({ page, target }));
}

/** Whether a link of a page leads to a file, a folder or a heading that is in the package. */
function isPacked({ page, target }: Link): boolean {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : posix.normalize(posix.join(dirname(page), path));
  if (anchor !== undefined) return paths.includes(file) && headingsOf(file).includes(anchor);
  return paths.some((each) => each === file || each.startsWith(`${file}/`));
}

/** The anchors that GitHub and npm give to the headings of a page. */
function headingsOf(page: string): readonly string[] {
  return [...readPacked(page).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

describe("what is published", () => {
  it("has README, the docs and the examples beside the code", () => {
    const folders = new Set(paths.map((path) => path.split("/")[0]));
    expect([...folders].sort()).toEqual(
      expect.arrayContaining([
        "CHANGELOG.md",
        "README.md",
        "SECURITY.md",
        "docs",
        "examples",
        "package.json",
      ]),
    );
    expect(paths.filter((path) => path.startsWith("examples/agent/"))).toHaveLength(4);
  });

  it("has nothing that only tests need", () => {
    expect(
      paths.filter((path) => /\.test\.|(^|\/)(test|bench|reports|scripts|node_modules)\//.test(path)),
    ).toEqual([]);
  });

  it("has the docs that a user needs, and of the pictures those that such a page shows", () => {
    expect(paths.filter((path) => /^(research|docs\/(decisions|contributing))\//.test(path))).toEqual([]);
    const shown = pages.flatMap(linksOf).map(({ page, target }) => posix.join(dirname(page), target));
    const pictures = paths.filter((path) => path.startsWith("docs/pictures/"));
    expect(pictures.filter((path) => !shown.includes(path))).toEqual([]);
  });

  it("names no folder of the machine it was made on", () => {
    const texts = paths.filter((path) => /^(docs|examples|[A-Z])/.test(path) && !path.endsWith(".png"));
    const places = new RegExp(`${root}|/root/|/home/(?!dev/project|you\\b)\\w+|[A-Z]:\\\\\\\\Users`);
    expect(texts.filter((path) => places.test(readPacked(path)))).toEqual([]);
  });

  it("leads from every link of README and docs to something in the package", () => {
    const links = pages.flatMap(linksOf).filter(({ target }) => !/^[a-z]+:/.test(target));
    expect(links).not.toEqual([]);
    expect(links.filter((link) => !isPacked(link))).toEqual([]);
  });
});

describe("the public address", () => {
  const folder = mkdtempSync(join(tmpdir(), "carryover-address-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const publishFrom = (env: Readonly<Record<string, string>>): string =>
    execFileSync(process.execPath, [join(root, "scripts/set-repository.mjs")], {
      cwd: folder,
      env: { ...env },
      encoding: "utf8",
      stdio: "pipe",
    });

  it("is that of the repository which publishes, and is asked for where nobody says it", () => {
    writeFileSync(join(folder, "package.json"), readPacked("package.json"));
    publishFrom({ GITHUB_SERVER_URL: "https://git.example", GITHUB_REPOSITORY: "somebody/carryover" });
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    expect(manifest).toEqual({
      ...JSON.parse(readPacked("package.json")),
      repository: { type: "git", url: "git+https://git.example/somebody/carryover.git" },
      bugs: { url: "https://git.example/somebody/carryover/issues" },
      homepage: "https://git.example/somebody/carryover#readme",
    });
    expect(() => publishFrom({})).toThrow("GITHUB_REPOSITORY");
  });

  it("is set by the workflow right before it packs", () => {
    const workflow = readFileSync(join(root, ".github/workflows/publish.yml"), "utf8");
    expect(workflow).toMatch(
      /node scripts\/set-repository\.mjs\n[\s\S]*npm pack[\s\S]*npm publish --provenance/,
    );
  });
});
