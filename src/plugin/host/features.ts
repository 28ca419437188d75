import type { Hooks } from "../../hosts/opencode/hooks.ts";
import { asObject, asString, isObject } from "../../text/json.ts";

/** One thing the plugin does, as the hooks it needs. */
export interface Feature {
  readonly name: string;
  readonly hooks: Hooks;
}

/** Thrown on purpose in `tool.execute.before`: the host shows its message to the model as the call's error. */
export class ToolRefusal extends Error {
  readonly code = "tool-refused";
}

export interface HookFailure {
  readonly feature: string;
  readonly hook: string;
  readonly cause: unknown;
  /** Unset where the hook does not tell which session it is about. */
  readonly sessionId?: string;
}

/**
 * The hooks of all features as one set, run in the order of the features; an event is told to all of them at once. A hook
 * that fails is reported, and its output is put back as it was: a throw would be an error 500 for the user.
 */
export function combineHooks(features: readonly Feature[], onFailure: (failure: HookFailure) => void): Hooks {
  const combined: Record<string, unknown> = {};
  for (const name of HOOK_NAMES) {
    const steps = features.filter((feature) => feature.hooks[name] !== undefined);
    if (steps.length === 0) continue;
    const run = async ({ name: feature, hooks }: Feature, input: unknown, output: unknown): Promise<void> => {
      const putBack = remember(output);
      try {
        await (hooks[name] as AnyHook)(input, output);
      } catch (cause) {
        if (cause instanceof ToolRefusal && name === "tool.execute.before") throw cause;
        putBack();
        const sessionId = sessionIn(input, output);
        onFailure({ feature, hook: name, cause, ...(sessionId !== undefined && { sessionId }) });
      }
    };
    combined[name] = async (input: unknown, output: unknown): Promise<void> => {
      // The host does not wait before it tells the next event: a feature that did would hear of them out of order.
      if (name === "event") await Promise.all(steps.map((step) => run(step, input, output)));
      else for (const step of steps) await run(step, input, output);
    };
  }
  return {
    ...combined,
    tool: Object.assign({}, ...features.map((feature) => feature.hooks.tool ?? {})),
  };
}

function sessionIn(input: unknown, output: unknown): string | undefined {
  const { sessionID, event } = asObject(input);
  const { messages } = asObject(output);
  const newest = Array.isArray(messages) ? asObject(messages.at(-1)) : {};
  return (
    asString(sessionID) ??
    asString(asObject(newest.info).sessionID) ??
    asString(asObject(asObject(event).properties).sessionID)
  );
}

type AnyHook = (input: unknown, output: unknown) => Promise<void>;

const HOOK_NAMES = [
  "dispose",
  "event",
  "config",
  "chat.message",
  "chat.params",
  "chat.headers",
  "tool.execute.before",
  "tool.execute.after",
  "experimental.chat.messages.transform",
  "experimental.session.compacting",
] as const satisfies readonly (keyof Hooks)[];

/** Gives a function that restores the fields of an output, and the items of its lists and records one level down. */
function remember(output: unknown): () => void {
  if (typeof output !== "object" || output === null) return () => {};
  const target = output as Record<string, unknown>;
  const before = Object.entries(target).map(([key, value]) => [key, value, shallowCopy(value)] as const);
  return () => {
    for (const key of Object.keys(target)) delete target[key];
    for (const [key, value, copy] of before) {
      target[key] = value;
      if (Array.isArray(value)) value.splice(0, value.length, ...(copy as unknown[]));
      else if (isObject(value)) {
        for (const field of Object.keys(value)) Reflect.deleteProperty(value, field);
        Object.assign(value, copy);
      }
    }
  };
}

function shallowCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice();
  return isObject(value) ? { ...value } : value;
}
