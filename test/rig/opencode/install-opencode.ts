import { join } from "node:path";
import { installProgram, npmInstall, rigFolder } from "../install-program.ts";

/** The version that every fact about the host was measured on. */
export const OPENCODE_VERSION = "1.18.33";

/**
 * Gives the path of OpenCode's own native binary, installed from the npm registry on first use.
 * The package never enters package.json: it is 177 MB, and some of its sister packages cannot be installed.
 */
export async function installOpenCode(cacheFolder: string = rigFolder()): Promise<string> {
  const name = packageName();
  const program = process.platform === "win32" ? "opencode.exe" : "opencode";
  return installProgram({
    folder: join(cacheFolder, `opencode-${OPENCODE_VERSION}`),
    program: join("node_modules", name, "bin", program),
    fetch: (folder) => npmInstall(folder, `${name}@${OPENCODE_VERSION}`),
  });
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
