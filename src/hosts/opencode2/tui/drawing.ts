/** The drawing half of OpenCode's terminal; the host puts its own copy in the place of what is imported. */
export interface Drawing {
  createElement(tag: "box" | "text"): unknown;
  insert(parent: unknown, child: unknown): unknown;
  setProp(node: unknown, name: string, value: unknown): unknown;
  /** Runs again whenever something changes that it has read. */
  effect(run: () => void): void;
  createSignal<Value>(initial: Value): readonly [() => Value, (change: (before: Value) => Value) => unknown];
}

/** The host's drawing functions; undefined where it does not lend them to plugins. */
export async function borrowDrawing(): Promise<Drawing | undefined> {
  try {
    // Written out, since OpenCode looks for these very texts when it loads the file.
    const [solid, view] = await Promise.all([import("solid-js"), import("@opentui/solid")]);
    const { createSignal } = solid;
    const { createElement, insert, setProp, effect } = view;
    const drawing = { createElement, insert, setProp, effect, createSignal };
    const isWhole = Object.values(drawing).every((each) => typeof each === "function");
    return isWhole ? drawing : undefined;
  } catch {
    return undefined;
  }
}
