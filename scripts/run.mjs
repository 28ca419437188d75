import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const root = fileURLToPath(new URL("..", import.meta.url));

/** Runs a program of node_modules (or of the system), shows what it prints, and ends this process when it fails. */
export function run(command, args, options = {}) {
  const path = `${root}node_modules/.bin:${process.env.PATH}`;
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, PATH: path },
    ...options,
  });
  if (result.error) throw result.error;
  if (result.status !== 0) process.exit(result.status ?? 1);
}

/** Runs a step under a heading that says what it is. */
export function step(title, command, args) {
  console.log(`\n— ${title}`);
  run(command, args);
}
