import { type ForkLine, sidebarLines } from "../../../agents/fork-lines.ts";
import { asObject, asString } from "../../../text/unknown-value.ts";
import type { Drawing } from "./drawing.ts";
import type { TuiContext } from "./tui-context.ts";

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
