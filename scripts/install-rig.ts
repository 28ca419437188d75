import { installOpenCode, OPENCODE_VERSION } from "../test/rig/opencode/install-opencode.ts";

// What the end-to-end tests need and npm ci does not bring. In CI it must be there; elsewhere the tests say what they skip.
try {
  await installOpenCode();
  console.log(`OpenCode ${OPENCODE_VERSION} is there`);
} catch (error) {
  console.log(`OpenCode ${OPENCODE_VERSION} is not there: ${(error as Error).message}`);
  if (process.env.CI === "true") process.exitCode = 1;
}
