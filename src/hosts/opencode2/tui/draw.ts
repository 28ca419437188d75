import { type ForkLine, sidebarLines } from "../../../agents/fork-lines.ts";
import { asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";

/** Puts the forks into the sidebar and the status line below the prompt, and keeps both up to date. */
export function createPanels(
  drawing: Drawing,
  { context, current, forksOf, statusOf }: PanelSources,
): Panels {
  const [version, change] = drawing.createSignal(0);
  const redraw = (): void => void change((before) => before + 1);
  const theme = (path: string): unknown =>
    path.split(".").reduce<unknown>((at, key) => asObject(at)[key], context.theme);

  /** What is computed for a session, again whenever something has changed; nothing where that fails. */
  function computed<Value>(
    sessionId: string | undefined,
    compute: (sessionId: string) => Value,
    none: Value,
  ) {
    version();
    try {
      return sessionId === undefined ? none : compute(sessionId);
    } catch {
      return none;
    }
  }

  const text = (line: () => string, colour: () => unknown): unknown => createText(drawing, { line, colour });

  function forkRows(fork: ForkLine): readonly unknown[] {
    const box = drawing.createElement("box");
    const { sessionId } = fork;
    if (sessionId !== undefined)
      drawing.setProp(box, "onMouseUp", () => {
        try {
          context.ui.router.navigate({ type: "session", sessionID: sessionId });
        } catch {
          // The session is gone.
        }
      });
    drawing.insert(box, [
      text(
        () => `${MARKS[fork.tone]} ${fork.title}`,
        () => theme(COLOURS[fork.tone]),
      ),
      ...sidebarLines(fork).map((line) =>
        text(
          () => `  ${line}`,
          () => theme("text.subdued"),
        ),
      ),
    ]);
    return [box];
  }

  context.ui.slot({
    append: "sidebar.content",
    render(input) {
      const box = drawing.createElement("box");
      drawing.insert(box, () => {
        const forks = computed(asString(input.sessionID), forksOf, []);
        const newest = forks.slice(-MAX_FORKS);
        const older = forks.length - newest.length;
        if (forks.length === 0) return [];
        const head = text(
          () => (older > 0 ? `Forks (${older} older: /forks)` : "Forks"),
          () => theme("text.default"),
        );
        return [head, ...newest.flatMap(forkRows)];
      });
      return box;
    },
  });
  context.ui.slot({
    append: "prompt.footer.status",
    render(input) {
      return text(
        () => computed(asString(input.sessionID), statusOf, ""),
        () => theme("text.subdued"),
      );
    },
  });
  // The age of a fork at work grows though nothing is written.
  const clock = setInterval(() => {
    if (computed(current(), isAnyAtWork, false)) redraw();
  }, CLOCK_MS);
  clock.unref?.();
  const isAnyAtWork = (sessionId: string): boolean =>
    forksOf(sessionId).some(({ tone }) => tone === "running" || tone === "asks");
  return { redraw, stop: () => clearInterval(clock) };
}

export interface Panels {
  /** Draws again what has changed. */
  redraw(): void;
  stop(): void;
}

interface PanelSources {
  readonly context: TuiContext;
  /** The session on the screen. */
  readonly current: () => string | undefined;
  readonly forksOf: (sessionId: string) => readonly ForkLine[];
  readonly statusOf: (sessionId: string) => string;
}

/** One line of text, cut where the screen ends. */
function createText(drawing: Drawing, { line, colour }: TextLook): unknown {
  const node = drawing.createElement("text");
  drawing.setProp(node, "wrapMode", "none");
  drawing.setProp(node, "truncate", true);
  drawing.effect(() => {
    const value = colour();
    if (value !== undefined) drawing.setProp(node, "fg", value);
  });
  drawing.insert(node, line);
  return node;
}

interface TextLook {
  readonly line: () => string;
  readonly colour: () => unknown;
}

const MAX_FORKS = 6;
const CLOCK_MS = 2_000;

const MARKS: Readonly<Record<ForkLine["tone"], string>> = {
  running: "●",
  asks: "?",
  ended: "✓",
  failed: "✗",
};
const COLOURS: Readonly<Record<ForkLine["tone"], string>> = {
  running: "text.default",
  asks: "text.feedback.warning.default",
  ended: "text.feedback.success.default",
  failed: "text.feedback.error.default",
};

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
