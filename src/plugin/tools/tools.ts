import type { Feature } from "../host/features.ts";
import type { ToolSetup } from "./define-tool.ts";
import { createForkCancelTool, createForkResultTool, createForkTool } from "./fork-tools.ts";
import { createRecallTool } from "./recall.ts";

/** The tools for the model, and the command for the person. */
export function createToolsFeature(setup: ToolSetup): Feature {
  return {
    name: "tools",
    tools: {
      fork: createForkTool(setup),
      fork_result: createForkResultTool(setup),
      fork_cancel: createForkCancelTool(setup),
      recall: createRecallTool(setup),
    },
    commands: {
      handoff: {
        description: "Hand a task to a background agent that knows this conversation",
        template:
          "Call the tool fork once, with this directive as its prompt, then go on with your own work:\n\n$ARGUMENTS",
      },
    },
  };
}
