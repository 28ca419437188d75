import { readFileSync, writeFileSync } from "node:fs";

// Run by .github/workflows/publish.yml. The public address is known where the package is published and nowhere in the
// sources: npm resolves the links of README by it, and signs a package only when it names the place it was built at.
const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
if (!server || !name) {
  console.error("GITHUB_SERVER_URL and GITHUB_REPOSITORY say where this is published from; set both.");
  process.exit(2);
}
const url = `${server}/${name}`;
const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const address = {
  repository: { type: "git", url: `git+${url}.git` },
  bugs: { url: `${url}/issues` },
  homepage: `${url}#readme`,
};
writeFileSync("package.json", `${JSON.stringify({ ...manifest, ...address }, null, 2)}\n`);
console.log(`This package is of ${url}`);
