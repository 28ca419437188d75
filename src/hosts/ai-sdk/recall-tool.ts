import type { Tool } from "ai";
import {
  answerRecall,
  RECALL_DESCRIPTION,
  RECALL_SCHEMA,
  type RecallInput,
  readRecallInput,
} from "../../middleware/recall-tool.ts";
import type { Session } from "../../session/session.ts";

/** The tool by which the model reads again what left its window. */
export function createRecallTool(session: Session): Tool<RecallInput, string> {
  const tool = {
    description: RECALL_DESCRIPTION,
    inputSchema: {
      [Symbol.for("vercel.ai.schema")]: true,
      _type: undefined,
      jsonSchema: RECALL_SCHEMA,
      validate: (value: unknown) => ({ success: true, value: readRecallInput(value) }),
    },
    execute: (input: RecallInput) => answerRecall(session, input),
  };
  // A schema of the SDK is marked by a symbol whose type it does not export.
  return tool as unknown as Tool<RecallInput, string>;
}
