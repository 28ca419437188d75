import { check, numberFrom, oneOf, type Rule, rule, wholeFrom } from "../../text/check.ts";
import { redactSecrets } from "../../text/secrets/redact-secrets.ts";
import { isObject, omitUndefined, type UnknownObject } from "../../text/unknown-value.ts";
import type { ForkSetup } from "../forks/forks.ts";
import type { ModelTool, RunningTool, ToolParameter } from "../host/agent-host.ts";

/**
 * A tool that runs only with arguments that fit its parameters; else the model is told everything that is wrong with them.
 * One that fails says so in words that tell the model what to do.
 */
export function defineTool<const Parameters extends Readonly<Record<string, ToolParameter>>>(
  { context }: Pick<ForkSetup, "context">,
  { description, parameters, run }: ToolPlan<Parameters>,
): ModelTool {
  const shape = Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => [name, ruleOf(parameter)]),
  );
  const required = Object.keys(parameters).filter((name) => parameters[name]?.isRequired);
  return {
    description,
    parameters,
    async execute(given, tool) {
      const args = given ?? {};
      const problems = check(shape, args).map(({ text }) => text);
      for (const name of required)
        if (!isObject(args) || args[name] === undefined) problems.push(`${name} is missing`);
      if (problems.length > 0)
        return `Nothing was done. ${problems.join("; ")}. Correct the arguments and call again.`;
      try {
        return await run(args as ArgumentsOf<Parameters>, tool);
      } catch (cause) {
        context.notify.log("error", "a tool failed", { cause: String(cause) });
        const reason = redactSecrets(String(cause), context.redaction).slice(0, 300);
        return `This did not work: ${reason}. Go on without it, or try once more.`;
      }
    },
  };
}

interface ToolPlan<Parameters extends Readonly<Record<string, ToolParameter>>> {
  readonly description: string;
  readonly parameters: Parameters;
  run(args: ArgumentsOf<Parameters>, tool: RunningTool): Promise<string>;
}

type ArgumentsOf<Parameters> = {
  readonly [Name in keyof Parameters as IsRequired<Parameters[Name]> extends true ? Name : never]: ArgumentOf<
    Parameters[Name]
  >;
} & {
  readonly [Name in keyof Parameters as IsRequired<Parameters[Name]> extends true
    ? never
    : Name]?: ArgumentOf<Parameters[Name]>;
};

type IsRequired<Parameter> = Parameter extends { readonly isRequired: true } ? true : false;

type ArgumentOf<Parameter> = Parameter extends { readonly words: readonly (infer Word)[] }
  ? Word
  : Parameter extends { readonly type: "number" | "whole-number" }
    ? number
    : string;

function ruleOf(parameter: ToolParameter): Rule {
  switch (parameter.type) {
    case "word":
      return oneOf(...parameter.words);
    case "text":
      return textRule(parameter);
    case "number":
    case "whole-number": {
      const { least, most = Number.POSITIVE_INFINITY } = parameter;
      const lower = parameter.type === "number" ? numberFrom(least) : wholeFrom(least);
      const expects = most === Number.POSITIVE_INFINITY ? lower.expects : `${lower.expects}, at most ${most}`;
      return rule(expects, (value) => lower.find(value, []).length === 0 && (value as number) <= most);
    }
  }
}

function textRule({ minChars = 1, maxChars = Infinity, pattern, expects }: TextParameter): Rule {
  const size = maxChars === Infinity ? "a text" : `a text of at most ${maxChars} characters`;
  return rule(expects ?? size, (value) => {
    if (typeof value !== "string" || !(pattern?.test(value) ?? true)) return false;
    const { length } = value.trim();
    return length >= minChars && length <= maxChars;
  });
}

/** The arguments of a tool as a JSON schema. */
export function inputSchema(parameters: ModelTool["parameters"]): UnknownObject {
  const entries = Object.entries(parameters);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([key, parameter]) => [key, schemaOf(parameter)])),
    required: entries.flatMap(([key, { isRequired }]) => (isRequired ? [key] : [])),
    additionalProperties: false,
  };
}

function schemaOf(parameter: ToolParameter): UnknownObject {
  const { description } = parameter;
  switch (parameter.type) {
    case "word":
      return omitUndefined({ type: "string", enum: parameter.words, description });
    case "text": {
      const { minChars = 1, maxChars: maxLength, pattern } = parameter;
      return pattern === undefined
        ? omitUndefined({ type: "string", minLength: minChars || undefined, maxLength, description })
        : omitUndefined({ type: "string", pattern: pattern.source, description });
    }
    case "number":
    case "whole-number": {
      const { least: minimum, most: maximum } = parameter;
      const type = parameter.type === "number" ? "number" : "integer";
      return omitUndefined({ type, minimum, maximum, description });
    }
  }
}

export type TextParameter = Extract<ToolParameter, { readonly type: "text" }>;
