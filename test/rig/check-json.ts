import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { z } from "zod";

const file = join(resolve(import.meta.dirname, "../.."), "docs/schema/cli-1.json");
const { $defs } = JSON.parse(readFileSync(file, "utf8")) as {
  readonly $defs: Readonly<Record<string, Schema>>;
};

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** The commands that `docs/schema/cli-1.json` describes. */
export const DESCRIBED_COMMANDS: readonly string[] = Object.keys($defs);

/**
 * What is wrong with the JSON that a command printed, by the published schema. A program must not stumble over a new field, so
 * the schema allows more of them; here a field that it does not list is a fault, so that none is added without a line there.
 */
export function jsonFaults(command: string, printed: unknown): readonly string[] {
  const schema = $defs[command];
  if (schema === undefined) return [`docs/schema/cli-1.json does not describe ${command}`];
  const { error } = z.fromJSONSchema(closed(schema, command) as JsonSchema).safeParse(printed);
  return (error?.issues ?? []).map((issue) => `${command}: ${JSON.stringify(issue)}`);
}

/** What a command printed with `--json`; throws where that is not what the schema says. */
export function parseChecked(command: string, printed: string): ReturnType<typeof JSON.parse> {
  const value: unknown = JSON.parse(printed);
  const faults = jsonFaults(command, value);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return value;
}

/** The schema without room for fields that it does not list. */
function closed(schema: Schema, path: string): Schema {
  if (
    schema.type === "object" &&
    schema.properties === undefined &&
    schema.additionalProperties === undefined
  )
    throw new Error(`docs/schema/cli-1.json lists no fields of ${path}`);
  if (schema.type === "array" && schema.items === undefined)
    throw new Error(`docs/schema/cli-1.json does not say what is in ${path}`);
  const { properties, items, anyOf, additionalProperties } = schema;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, closed(each, `${path}.${name}`)]),
      ),
      additionalProperties: additionalProperties ?? false,
    }),
    ...(items && { items: closed(items, `${path}[]`) }),
    ...(anyOf && { anyOf: anyOf.map((each) => closed(each, path)) }),
  };
}

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0];
