import type { ToolDefinition } from "../../hosts/opencode/hooks.ts";
import type { Feature } from "../host/features.ts";
import type { ToolSetup } from "./define-tool.ts";
import { createForkCancelTool, createForkResultTool, createForkTool } from "./fork-tools.ts";
import { createRecallTool } from "./recall.ts";

/** The tools for the model, and the command for the person. */
export function createToolsFeature(setup: ToolSetup): Feature {
  return {
    name: "tools",
    hooks: {
      tool: {
        fork: guarded(setup, createForkTool(setup)),
        fork_result: guarded(setup, createForkResultTool(setup)),
        fork_cancel: guarded(setup, createForkCancelTool(setup)),
        recall: guarded(setup, createRecallTool(setup)),
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

/** An error of ours is text that says what to do, never an exception. */
function guarded({ context }: ToolSetup, tool: ToolDefinition): ToolDefinition {
  return {
    ...tool,
    async execute(args, call) {
      try {
        return await tool.execute(args, call);
      } catch (cause) {
        context.notify.log("error", "a tool failed", { cause: String(cause) });
        return `This did not work: ${String(cause).slice(0, 300)}. Go on without it, or try once more.`;
      }
    },
  };
}
