import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

/** The version that every fact about the host was measured on. */
export const OPENCODE_VERSION = "1.18.33";

/**
 * Gives the path of OpenCode's own native binary, installed from the npm registry on first use.
 * The package never enters package.json: it is 177 MB, and some of its sister packages cannot be installed.
 */
export async function installOpenCode(cacheFolder: string = rigFolder()): Promise<string> {
  const folder = join(cacheFolder, `opencode-${OPENCODE_VERSION}`);
  const name = packageName();
  const binary = join(
    "node_modules",
    name,
    "bin",
    process.platform === "win32" ? "opencode.exe" : "opencode",
  );
  if (existsSync(join(folder, binary))) return join(folder, binary);
  await mkdir(cacheFolder, { recursive: true });
  // Installed aside and renamed, so that two test files starting at once never see half a package.
  const aside = await mkdtemp(join(cacheFolder, "installing-"));
  try {
    await npmInstall(aside, `${name}@${OPENCODE_VERSION}`);
    await rename(aside, folder).catch((cause: unknown) => {
      if (!existsSync(join(folder, binary))) throw cause;
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return join(folder, binary);
}

/** Where everything that is downloaded for the end-to-end tests lives. */
export function rigFolder(): string {
  return resolve(process.env.CARRYOVER_RIG ?? ".rig");
}

async function npmInstall(folder: string, spec: string): Promise<void> {
  const flags = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  try {
    await promisify(execFile)("npm", ["install", "--prefix", folder, ...flags, spec], {
      shell: process.platform === "win32",
    });
  } catch (cause) {
    const message = `Could not install ${spec}: is the npm registry reachable? Set CARRYOVER_RIG to a folder that has it.`;
    throw Object.assign(new Error(message, { cause }), { code: "opencode-not-installed" });
  }
}

function packageName(): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  return `opencode-${platform}-${process.arch}${usesMusl() ? "-musl" : ""}`;
}

function usesMusl(): boolean {
  if (process.platform !== "linux") return false;
  const report = process.report.getReport() as {
    readonly header?: { readonly glibcVersionRuntime?: string };
  };
  return report.header?.glibcVersionRuntime === undefined;
}
