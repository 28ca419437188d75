import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

/** A program of others that tests run: it is fetched on first use and never enters package.json. */
export interface InstallableProgram {
  /** Where it lies, once it is there. */
  readonly folder: string;
  /** The file to run, inside the folder. */
  readonly program: string;
  /** Puts it into a folder that is empty. */
  readonly fetch: (folder: string) => Promise<void>;
}

/** Gives the path of a program; it is put aside and renamed, so that two tests at once never see half of one. */
export async function installProgram({ folder, program, fetch }: InstallableProgram): Promise<string> {
  const path = join(folder, program);
  if (existsSync(path)) return path;
  await mkdir(dirname(folder), { recursive: true });
  const aside = await mkdtemp(join(dirname(folder), "installing-"));
  try {
    await fetch(aside);
    await rename(aside, folder).catch((cause: unknown) => {
      if (!existsSync(path)) throw cause;
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return path;
}

/** Where everything that is downloaded for the end-to-end tests lives. */
export function rigFolder(): string {
  return resolve(process.env.CARRYOVER_RIG ?? ".rig");
}

/** Installs packages of the registry into a folder, without their scripts. */
export function npmInstall(folder: string, ...specs: readonly string[]): Promise<void> {
  const flags = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  return npm(["install", "--prefix", folder, ...flags, ...specs], specs);
}

/** Unpacks one package of the registry into `<folder>/package`, without what it depends on. */
export async function npmUnpack(folder: string, spec: string): Promise<void> {
  await npm(["pack", "--silent", "--pack-destination", folder, spec], [spec]);
  const run = promisify(execFile);
  await run("sh", ["-c", "tar -xzf *.tgz && rm -- *.tgz"], { cwd: folder });
}

async function npm(args: readonly string[], specs: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)("npm", [...args], { shell: process.platform === "win32" });
  } catch (cause) {
    const message = `Could not install ${specs.join(" ")}: is the npm registry reachable? Set CARRYOVER_RIG to a folder that has it.`;
    throw Object.assign(new Error(message, { cause }), { code: "not-installed" });
  }
}
