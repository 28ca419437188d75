import { describe, it } from "vitest";
import type { AgentProgram } from "./agent-programs.ts";

/** Tests in a real agent, which is fetched on first use. Where it cannot be had one line says what is skipped; in CI that is a failure, but for one that no registry has. */
export async function describeAgent(agent: AgentProgram, tests: () => void): Promise<void> {
  const name = `${agent.name} ${agent.version}`;
  const problem = await agent.install().then(
    () => undefined,
    (error: Error) => error.message,
  );
  if (problem === undefined) describe(name, tests);
  else if (process.env.CI === "true" && !agent.isRare)
    it(`${name} can be had`, () => Promise.reject(new Error(problem)));
  else it.skip(`${name} is skipped: ${problem}`, () => {});
}
