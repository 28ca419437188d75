import { z } from "zod";
import type { ToolContext, ToolDefinition } from "../../hosts/opencode/hooks.ts";
import type { PluginContext } from "../context/context.ts";
import type { Forks } from "../forks/forks.ts";

/** A tool that is run only with arguments as it wants them; else the model is told what is wrong with them: the host checks nothing. */
export function defineTool<Shape extends z.ZodRawShape>({
  description,
  args,
  run,
}: ToolPlan<Shape>): ToolDefinition {
  const wanted = z.strictObject(args);
  return {
    description,
    args,
    async execute(given, tool) {
      const parsed = wanted.safeParse(given ?? {});
      return parsed.success
        ? run(parsed.data as z.infer<z.ZodObject<Shape>>, tool)
        : problemsText(parsed.error);
    },
  };
}

interface ToolPlan<Shape extends z.ZodRawShape> {
  readonly description: string;
  readonly args: Shape;
  run(args: z.infer<z.ZodObject<Shape>>, tool: ToolContext): Promise<string>;
}

/** How long a call may wait. */
export const WAIT_S: z.ZodOptional<z.ZodNumber> = z.number().min(0).max(600).optional();

function problemsText({ issues }: z.ZodError): string {
  const problems = issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join(".")}: ${message}`,
  );
  return `Nothing was done. ${problems.join("; ")}. Correct the arguments and call again.`;
}

/** What the tools work with. */
export interface ToolSetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}
