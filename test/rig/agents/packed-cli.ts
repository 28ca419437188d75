import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const project = resolve(import.meta.dirname, "../../..");

/** The command line of the package as it is published, unpacked into a folder of its own. */
export function unpackCli(): string {
  const folder = mkdtempSync(join(tmpdir(), "carryover-package-"));
  const packed = execFileSync("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], {
    cwd: project,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
  execFileSync("tar", ["-xzf", filename], { cwd: folder });
  return join(folder, "package", "dist", "cli.js");
}
