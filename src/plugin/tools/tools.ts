import type { ModelTool } from "../host/agent-host.ts";
import type { Feature } from "../host/features.ts";
import type { ToolSetup } from "./define-tool.ts";
import { createForkCancelTool, createForkResultTool, createForkTool } from "./fork-tools.ts";
import { createRecallTool } from "./recall.ts";

/** The tools for the model, and the command for the person. */
export function createToolsFeature(setup: ToolSetup): Feature {
  return {
    name: "tools",
    tools: {
      fork: guarded(setup, createForkTool(setup)),
      fork_result: guarded(setup, createForkResultTool(setup)),
      fork_cancel: guarded(setup, createForkCancelTool(setup)),
      recall: guarded(setup, createRecallTool(setup)),
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

/** A tool that failed says so in words that tell the model what to do; it never throws. */
function guarded({ context }: ToolSetup, tool: ModelTool): ModelTool {
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
