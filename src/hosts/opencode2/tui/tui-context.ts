import type { UnknownObject } from "../../../text/unknown-value.ts";

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
