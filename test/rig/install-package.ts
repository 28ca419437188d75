import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Installs one of Debian's packages if that can be done here; gives the reason where it cannot. */
export async function installPackage(name: string): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "installing it needs root";
  const run = promisify(execFile);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  // Several tests may want a package at the same time.
  const wait = ["-o", `DPkg::Lock::Timeout=${LOCK_WAIT_S}`];
  const install = [...wait, "install", "-y", "--no-install-recommends", name];
  try {
    await run("apt-get", install, { env }).catch(async () => {
      await run("apt-get", [...wait, "update"], { env });
      await run("apt-get", install, { env });
    });
    return undefined;
  } catch (cause) {
    return `apt-get: ${String(cause).slice(0, 200)}`;
  }
}

const LOCK_WAIT_S = 120;
