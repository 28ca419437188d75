import type { UnknownObject } from "../../../text/json.ts";

/** What OpenCode 2 gives to the part of a plugin that runs in its terminal; only what we use is named. */
export interface TuiContext {
  readonly options?: UnknownObject;
  readonly theme: UnknownObject;
  /** The folder that the screen works in, where that is known. */
  readonly location?: { readonly directory?: string };
  readonly client: {
    readonly config?: { get(): Promise<unknown> };
  };
  readonly data: {
    readonly session: {
      get(sessionId: string): unknown;
      readonly message: {
        /** What is known of the messages; all of them after `sync`, and kept up to date from then on. */
        list(sessionId: string): readonly unknown[];
        sync(sessionId: string): Promise<unknown>;
      };
      readonly permission?: { list(sessionId: string): readonly unknown[] | undefined };
    };
    readonly location: { readonly model: { list(location?: unknown): readonly unknown[] | undefined } };
  };
  readonly keymap: { layer(create: () => UnknownObject): void };
  readonly ui: {
    slot(claim: SlotClaim): unknown;
    readonly toast: {
      show(toast: {
        readonly title: string;
        readonly message: string;
        readonly variant: "info" | "success" | "warning" | "error";
        readonly duration?: number;
      }): void;
    };
    readonly dialog: {
      alert(dialog: { readonly title: string; readonly message: string }): Promise<unknown>;
      select(dialog: SelectDialog): Promise<unknown>;
      set?(options: { readonly size: "medium" | "large" | "xlarge" }): void;
    };
    readonly router: {
      current(): unknown;
      navigate(destination: { readonly type: "session"; readonly sessionID: string }): void;
    };
  };
}

/** A place on the screen, and what stands at its end. */
interface SlotClaim {
  readonly append: "app" | "sidebar.content" | "prompt.footer.status";
  /** Called once as a component; what it reads of `input` is followed. */
  render(input: { readonly sessionID?: string }): unknown;
}

interface SelectDialog {
  readonly title: string;
  readonly options: readonly {
    readonly title: string;
    readonly description?: string;
    readonly value: string;
  }[];
  readonly current?: string;
}

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
