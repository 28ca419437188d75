import { asObject, asString } from "../../text/json.ts";
import type { ModelRef } from "../../transcript/message.ts";
import { readHostConfiguration } from "../opencode/configuration.ts";
import { queryOpenCode, runOpenCodeCommand } from "../opencode/sessions.ts";
import { CliError } from "../terminal/cli-error.ts";

/**
 * The model that OpenCode 1 goes on with: it asks the one that the newest message names, and refuses one that it does
 * not have. The configured one, that of the newest message, or the first that it offers.
 */
export async function openCodeModel(directory: string, env: NodeJS.ProcessEnv): Promise<ModelRef> {
  const { settings } = await readHostConfiguration({ directory, env });
  const named = parseModel(asString(settings.model)) ?? (await newestModel(env)) ?? (await firstOffered(env));
  if (named !== undefined) return named;
  throw new CliError("OpenCode offers no model", ["Name one with --model <provider>/<model>."]);
}

/** A model as people write it: `provider/model`. */
export function parseModel(text: string | undefined): ModelRef | undefined {
  const [, provider, id] = /^([^/\s]+)\/(\S+)$/.exec(text ?? "") ?? [];
  return provider === undefined || id === undefined ? undefined : { provider, id };
}

async function newestModel(env: NodeJS.ProcessEnv): Promise<ModelRef | undefined> {
  const [row] = await queryOpenCode(NEWEST_MODEL, env).catch(() => []);
  const { provider, id } = asObject(row);
  return parseModel(`${asString(provider)}/${asString(id)}`);
}

const NEWEST_MODEL =
  "select json_extract(data, '$.model.providerID') provider, json_extract(data, '$.model.modelID') id from message " +
  "where json_extract(data, '$.role') = 'user' and json_extract(data, '$.model.providerID') <> 'carryover' " +
  "order by time_created desc limit 1";

async function firstOffered(env: NodeJS.ProcessEnv): Promise<ModelRef | undefined> {
  const output = await runOpenCodeCommand(["models"], env).catch(() => Buffer.from(""));
  return output
    .toString("utf8")
    .split("\n")
    .map((line) => parseModel(line.trim()))
    .find((model) => model !== undefined);
}
