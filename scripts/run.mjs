import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
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

/** Prints how many tests passed, failed and were skipped in these reports of vitest, and ends this process when one failed. */
export function sumOfTests(reports) {
  const runs = reports.map((file) => JSON.parse(readFileSync(file, "utf8")));
  const sum = (name) => runs.reduce((total, run) => total + run[name], 0);
  console.log(
    `\n${sum("numPassedTests")} passed, ${sum("numFailedTests")} failed, ${sum("numPendingTests")} skipped`,
  );
  if (sum("numFailedTests") > 0) process.exit(1);
}
