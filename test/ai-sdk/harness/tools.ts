import { type Tool, tool } from "ai";
import { z } from "zod";

/** A tool that always finds the same short file. */
export const read: Tool<{ path: string }, string> = tool({
  description: "Reads a file.",
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }) => `the content of ${path}`,
});
