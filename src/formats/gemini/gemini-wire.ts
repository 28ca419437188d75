/** A content of Google's Gemini API. Parts and fields that are not known are kept as they are. */
export interface GeminiContent {
  readonly role?: string | undefined;
  readonly parts?: unknown;
}

/** A request of that API; `systemInstruction` and `model` are looked at, everything else is kept. */
export interface GeminiRequest {
  readonly contents: readonly GeminiContent[];
  readonly systemInstruction?: unknown;
  readonly system_instruction?: unknown;
}

/** What the Gemini format reads: a list of contents, or a whole request. */
export type GeminiWire = readonly GeminiContent[] | GeminiRequest;

/** The contents of a wire, its system instruction first. */
export function contentsOf(wire: GeminiWire): readonly GeminiContent[] {
  if (Array.isArray(wire)) return wire;
  if (typeof wire !== "object" || wire === null) return [];
  const { contents, systemInstruction, system_instruction: snakeCase } = wire as GeminiRequest;
  if (!Array.isArray(contents)) return [];
  const system = systemInstruction ?? snakeCase;
  if (system === undefined || system === null) return contents;
  const parts = typeof system === "string" ? [{ text: system }] : (system as GeminiContent).parts;
  return [{ ...(typeof system === "object" && system), role: "system", parts }, ...contents];
}

/** The wire with other contents in it. */
export function withContents(wire: GeminiWire, items: readonly GeminiContent[]): GeminiWire {
  if (Array.isArray(wire) || typeof wire !== "object" || wire === null) return items;
  const { systemInstruction, system_instruction: snakeCase, ...request } = wire as GeminiRequest;
  const contents = items.filter((item) => item?.role !== "system");
  const systems = items.filter((item) => item?.role === "system");
  if (systems.length === 0) return { ...request, contents };
  const old = systemInstruction ?? snakeCase;
  const parts = systems.flatMap((item) => (Array.isArray(item.parts) ? item.parts : []));
  const system = isSame(old, parts) ? old : { ...(typeof old === "object" && old), parts };
  const name =
    systemInstruction === undefined && snakeCase !== undefined ? "system_instruction" : "systemInstruction";
  return { ...request, [name]: system, contents };
}

function isSame(system: unknown, parts: readonly unknown[]): boolean {
  if (typeof system === "string")
    return parts.length === 1 && (parts[0] as { text?: unknown }).text === system;
  if (typeof system !== "object" || system === null) return false;
  const old = (system as GeminiContent).parts;
  return (
    Array.isArray(old) && old.length === parts.length && old.every((part, index) => part === parts[index])
  );
}
