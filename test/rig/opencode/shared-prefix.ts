import type { ModelRequest } from "../model-server/model-server.ts";

/**
 * How much of an earlier request a later one repeats from its beginning, in the order in which providers cache:
 * tools, system, messages. Cache marks are left out, since they move without changing what is cached.
 */
export function sharedPrefix(earlier: ModelRequest, later: ModelRequest): SharedPrefix {
  const before = cachedText(earlier);
  const after = cachedText(later);
  let sharedChars = 0;
  while (sharedChars < before.length && before[sharedChars] === after[sharedChars]) sharedChars++;
  return { sharedChars, earlierChars: before.length, share: sharedChars / before.length };
}

export interface SharedPrefix {
  readonly sharedChars: number;
  readonly earlierChars: number;
  /** 1 when the later request begins with the whole earlier one. */
  readonly share: number;
}

/** The names of the tools that a request declares, in their order. */
export function toolNamesOf({ body }: ModelRequest): readonly string[] {
  const tools = Array.isArray(body.tools) ? (body.tools as readonly DeclaredTool[]) : [];
  return tools.map(({ name, function: declared }) => name ?? declared?.name ?? "");
}

interface DeclaredTool {
  readonly name?: string;
  readonly function?: { readonly name: string };
}

function cachedText({ body }: ModelRequest): string {
  const said = [body.messages, body.input].find(Array.isArray) ?? [];
  return [body.tools ?? [], body.system ?? body.instructions ?? [], ...said]
    .map(withoutCacheMarks)
    .join("\n");
}

function withoutCacheMarks(value: unknown): string {
  return JSON.stringify(value, (key, each: unknown) => (key === "cache_control" ? undefined : each));
}
