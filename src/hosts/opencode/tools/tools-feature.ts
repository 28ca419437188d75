import type { Feature } from "../combine-hooks.ts";
import { createForkCancelTool } from "./fork-cancel-tool.ts";
import { createForkResultTool } from "./fork-result-tool.ts";
import { createForkTool } from "./fork-tool.ts";
import { createRecallTool } from "./recall-tool.ts";
import type { ToolSetup } from "./tool-setup.ts";

/** The tools for the model, and the command for the person. */
export function createToolsFeature(setup: ToolSetup): Feature {
  return {
    name: "tools",
    hooks: {
      tool: {
        fork: createForkTool(setup),
        fork_result: createForkResultTool(setup),
        fork_cancel: createForkCancelTool(setup),
        recall: createRecallTool(setup),
      },
      config: async (config) => {
        config.command = {
          handoff: {
            description: "Hand a task to a background agent that knows this conversation",
            template:
              "Call the tool fork once, with this directive as its prompt, then go on with your own work:\n\n$ARGUMENTS",
          },
          ...config.command,
        };
      },
    },
  };
}
