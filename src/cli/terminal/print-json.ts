/** Prints what a command says as JSON, for a program to read. */
export function printJson(value: object): void {
  process.stdout.write(jsonText(value));
}

/** The JSON of what a command says, with the version of its schema, which `docs/schema` publishes. */
export function jsonText(value: object): string {
  return `${JSON.stringify({ schemaVersion: SCHEMA_VERSION, ...value }, null, 2)}\n`;
}

/** Grows when a field is taken away or means something else; new fields may come at any time. */
const SCHEMA_VERSION = 1;
