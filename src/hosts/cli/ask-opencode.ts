import { spawn } from "node:child_process";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What the person's own OpenCode prints for these arguments; throws with a reason when it does not. */
export async function askOpenCode(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Buffer> {
  // Into a file: OpenCode ends before a pipe is drained, and what is long arrives cut in the middle.
  const folder = await mkdtemp(join(tmpdir(), "carryover-"));
  const path = join(folder, "stdout");
  const output = await open(path, "w", 0o600);
  try {
    const child = spawn(env.OPENCODE_BIN || "opencode", args, {
      env,
      stdio: ["ignore", output.fd, "ignore"],
    });
    const timer = setTimeout(() => child.kill(), LIMIT_MS);
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once("error", reject).once("exit", resolve),
    ).finally(() => clearTimeout(timer));
    if (code !== 0) throw new Error(`\`opencode ${args[0]}\` ended with code ${code}`);
    return await readFile(path);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "ENOENT"
      ? new Error("the program opencode, which reads its database, is not on the PATH")
      : error;
  } finally {
    await output.close();
    await rm(folder, { recursive: true, force: true });
  }
}

const LIMIT_MS = 60_000;
