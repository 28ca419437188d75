import { z } from "zod";
import { findFork } from "../../../tasks/find-fork.ts";
import { currentRun, isLive } from "../../../tasks/fork-record.ts";
import type { ToolDefinition } from "../host.ts";
import { defineTool } from "./define-tool.ts";
import { resultOf } from "./fork-results.ts";
import type { ToolSetup } from "./tool-setup.ts";

/** Stops forks and gives what they had got to; they can be resumed. */
export function createForkCancelTool(setup: ToolSetup): ToolDefinition {
  const { context, forks } = setup;
  return defineTool({
    description: "Stop a fork, or all. Gives its partial result; it can be resumed.",
    args: SHAPE,
    async run({ id }, tool) {
      if ((await forks.bonds.bondOf(tool.sessionID)) !== undefined)
        return "You are a fork and cannot stop forks.";
      const root = await context.tree.rootOf(tool.sessionID);
      const records = forks.keeper.all().filter((record) => record.rootSessionId === root);
      const named =
        id === "all"
          ? records.filter((record) => isLive(currentRun(record)))
          : [findFork(records, { rootSessionId: root, name: id })];
      const wanted = named.filter((record) => record !== undefined);
      if (wanted.length === 0) {
        return id === "all"
          ? "No fork is running."
          : `There is no fork "${id}". Call fork_result without an id for a list.`;
      }
      const texts = await Promise.all(
        wanted.map(async (record) => {
          if (!isLive(currentRun(record)))
            return `Fork ${record.number} had ended already (${currentRun(record).state}).`;
          await forks.keeper.tell(record.id, { type: "cancel-asked", reason: "the parent stopped it" });
          await forks.waitForEnd(record.id, { limitMs: STOP_MS, signal: tool.abort });
          return (
            (await resultOf(setup, record.id)) ??
            `Fork ${record.number} is being stopped; its partial result will be delivered.`
          );
        }),
      );
      return texts.join("\n\n");
    },
  });
}

const SHAPE = { id: z.string().min(1).describe('fork id, or "all"') };

const STOP_MS = 10_000;
