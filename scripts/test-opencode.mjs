import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { root, run } from "./run.mjs";

// Scenarios with the real OpenCode: node scripts/test-opencode.mjs [--long] [what vitest takes: a file, -t a name]
const args = process.argv.slice(2);
const isLong = args.includes("--long");
const results = `${root}reports/opencode.json`;
mkdirSync(`${root}reports`, { recursive: true });
rmSync(results, { force: true });

if (process.env.CARRYOVER_BUILT === undefined) run(process.execPath, ["scripts/build.mjs"]);
run(process.execPath, ["scripts/run-ts.mjs", "scripts/install-rig.ts"]);

const rig = process.env.CARRYOVER_RIG ?? `${root}.rig`;
if (!existsSync(rig) || !readdirSync(rig).some((name) => name.startsWith("opencode-"))) {
  console.log("skipped: the scenarios with the real OpenCode, which is not installed");
  writeFileSync(results, JSON.stringify({ numPassedTests: 0, numFailedTests: 0, numPendingTests: 1 }));
  process.exit(process.env.CI === "true" ? 1 : 0);
}

const vitest = [
  ...["node_modules/vitest/vitest.mjs", "run", "--config", "vitest.opencode.config.ts"],
  ...args.filter((argument) => argument !== "--long"),
  ...(isLong && args.length === 1 ? ["test/opencode/oracle", "two-processes"] : []),
];
const cage = networkCage();
console.log(
  cage.length > 0
    ? "network: a namespace with nothing but the loopback"
    : "network: as it is here; the configuration asks for none, and a trap notices whoever does",
);
const [command, ...rest] = [...cage, process.execPath, ...vitest];
const { status } = spawnSync(command, rest, {
  cwd: root,
  stdio: "inherit",
  env: {
    ...process.env,
    CARRYOVER_OPENCODE_RESULTS: results,
    ...(cage.length > 0 ? { CARRYOVER_NETWORK: "loopback" } : {}),
    ...(isLong ? { CARRYOVER_ORACLE_SESSIONS: "200", CARRYOVER_LONG: "1" } : {}),
  },
});

const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(results, "utf8"));
console.log(`\n${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`);
process.exit(status ?? 1);

/** What to put before a command so that it runs where only the loopback exists; nothing where that cannot be had. */
function networkCage() {
  const up = 'ip link set lo up 2>/dev/null || ifconfig lo up; exec "$@"';
  for (const flags of [["-n"], ["-r", "-n"]]) {
    const attempt = ["unshare", ...flags, "sh", "-c", up, "sh"];
    const ping =
      "require('net').connect(9, '127.0.0.1').on('error', (e) => process.exit(e.code === 'ECONNREFUSED' ? 0 : 1))";
    const { status: worked } = spawnSync(attempt[0], [...attempt.slice(1), process.execPath, "-e", ping]);
    if (worked === 0) return attempt;
  }
  return [];
}
