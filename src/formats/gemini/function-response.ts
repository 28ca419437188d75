import { safeJson } from "../../text/safe-json.ts";
import { outcomeText, type ToolOutcome, type ToolPart } from "../../transcript/part.ts";
import { createFileFilter } from "../blocks/result-content.ts";
import { compact, type Fields, fields } from "../fields.ts";
import { readGeminiFile } from "./read-gemini-file.ts";

/** The outcome in a function response: the text under its usual names, else the JSON of the whole. */
export function readFunctionResponse(functionResponse: Fields): ToolOutcome {
  const { response, parts } = functionResponse;
  const name = textName(response);
  const text = name === undefined ? wholeText(response) : String(fields(response)[name]);
  if (name === "error") return { status: "failed", error: text };
  return { status: "done", output: text, attachments: Array.isArray(parts) ? parts.map(readGeminiFile) : [] };
}

/** The function response of an edited result: what stood beside the text stays. */
export function writeFunctionResponse(part: ToolPart, old: Fields): Fields {
  const text = outcomeText(part.outcome);
  const name = textName(old.response);
  const isFailed = part.outcome.status === "failed";
  const isKept = createFileFilter(part);
  const files = Array.isArray(old.parts) ? old.parts.filter((file) => isKept(readGeminiFile(file))) : [];
  const response =
    name !== undefined && (name === "error") === isFailed
      ? { ...fields(old.response), [name]: text }
      : { [isFailed ? "error" : "output"]: text };
  return compact({ ...old, response, parts: files.length === 0 ? undefined : files });
}

const TEXT_NAMES: readonly string[] = ["output", "result", "content", "error"];

/** The field that holds the text, when there is one and nothing beside it that could be large. */
function textName(response: unknown): string | undefined {
  const entries = Object.entries(fields(response));
  const name = TEXT_NAMES.find((field) => typeof fields(response)[field] === "string");
  const isPlain = entries.every(([, value]) => typeof value !== "object" || value === null);
  return isPlain ? name : undefined;
}

function wholeText(response: unknown): string {
  if (typeof response === "string") return response;
  return response === undefined || response === null ? "" : safeJson(response);
}
