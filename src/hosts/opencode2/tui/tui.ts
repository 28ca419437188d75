import { type ForkLine, forkLines, listLine, plainLine } from "../../../agents/fork-lines.ts";
import { createToasts } from "../../../plugin/context/toasts.ts";
import { pluginFolders } from "../../../plugin/stores/folders.ts";
import { openPluginStores } from "../../../plugin/stores/open-stores.ts";
import { isDatabase } from "../../../plugin/stores/plugin-stores.ts";
import { asArray, asObject, asString } from "../../../text/unknown-value.ts";
import { createNotices } from "../notices.ts";
import { createPanels, type Panels } from "./draw.ts";
import { borrowDrawing } from "./drawing.ts";
import { type ForkStates, forkNews, forkStates } from "./fork-news.ts";
import { lastStep } from "./last-step.ts";
import type { TuiContext } from "./tui-context.ts";
import { createWatch, type PluginWatch } from "./watch.ts";
import { whatLeft } from "./what-left.ts";
import { contextReport, statusLine, type WindowFill, windowFill } from "./window-report.ts";

/**
 * The part of the plugin that runs in OpenCode 2's terminal: forks in the sidebar, a line that says what was saved, `/forks`, `/context`, and
 * toasts when a fork ends or asks, and for whatever else the part in the server has to say. It reads what the part in the server
 * writes, changes nothing, and takes nothing down with it: what fails here is not shown, and that is all. Returns what ends it.
 */
export async function createTui(context: TuiContext): Promise<() => void> {
  if (!isTerminal(context)) return () => {};
  const [drawing, store] = await Promise.all([borrowDrawing(), findStore(context)]);
  const folders = pluginFolders({
    store: store !== undefined && isDatabase(store) ? undefined : store,
    env: process.env,
  });
  const stores = openPluginStores({ store, folders, now: Date.now, usedBy: "command" });
  const startedAtMs = Date.now();
  const toasts = createToasts({
    toast: (message, variant, { durationMs: duration } = {}) =>
      quietly(() =>
        context.ui.toast.show({
          title: "Carryover",
          message,
          variant,
          ...(duration !== undefined && { duration }),
        }),
      ),
  });
  let known: ForkStates = new Map();
  let panels: Panels | undefined;
  const watch = createWatch({
    stores,
    current: () => quietly(() => currentSession(context)),
    onChange: () => {
      quietly(tellNews);
      quietly(() => panels?.redraw());
    },
  });
  const screen = createScreen(context, { watch, now: stores.now });

  function tellNews(): void {
    const here = watch.forks().records.filter(({ rootSessionId }) => screen.isHere(rootSessionId));
    for (const news of forkNews(here, { before: known, sinceMs: startedAtMs }))
      if (news.type === "ended") toasts.add(news);
      else toasts.add({ name: news.name, text: screen.askText(news.sessionId), tone: "warning" });
    known = forkStates(here);
  }

  const stopNotices = showNotices(context, { root: folders.root, toasts });

  if (drawing !== undefined)
    panels = createPanels(drawing, {
      context,
      current: () => quietly(() => currentSession(context)),
      forksOf: screen.forksOf,
      statusOf: screen.statusOf,
    });
  // A layer of keys belongs to a component: this one draws nothing.
  context.ui.slot({
    append: "app",
    render() {
      quietly(() => context.keymap.layer(() => ({ mode: "global", commands: commandsOf(context, screen) })));
      return null;
    },
  });
  return () => {
    watch.stop();
    stopNotices();
    panels?.stop();
    stores.close().catch(() => {});
  };
}

/** Shows what the half in the server has to say about the folder on the screen. Returns what ends it. */
function showNotices(context: TuiContext, { root, toasts }: NoticesPlace): () => void {
  const notices = createNotices({ root });
  let isRunning = false;
  const look = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    const directory = quietly(() => currentFolder(context)) ?? process.cwd();
    for (const notice of await notices.take(directory)) toasts.add(notice);
    isRunning = false;
  };
  const timer = setInterval(() => void look().catch(() => {}), NOTICES_MS);
  timer.unref?.();
  return () => clearInterval(timer);
}

interface NoticesPlace {
  readonly root: string;
  readonly toasts: ReturnType<typeof createToasts>;
}

/** A look costs one name of a file. */
const NOTICES_MS = 700;

/** The folder of the session on the screen, or of the screen. */
function currentFolder(context: TuiContext): string | undefined {
  const sessionId = currentSession(context);
  const { location } = asObject(sessionId === undefined ? undefined : context.data.session.get(sessionId));
  return asString(asObject(location).directory) ?? asString(asObject(context.location).directory);
}

/** What is asked of the screen is there; another program, or one much newer, gets none of ours. */
function isTerminal(context: TuiContext): boolean {
  const { ui, keymap, data } = asObject(context);
  const { slot, dialog, router, toast } = asObject(ui);
  const { session } = asObject(data);
  return (
    [slot, asObject(keymap).layer, asObject(dialog).select, asObject(toast).show].every(
      (each) => typeof each === "function",
    ) &&
    typeof asObject(router).current === "function" &&
    typeof asObject(asObject(session).message).list === "function"
  );
}

/** The session on the screen. */
function currentSession({ ui }: TuiContext): string | undefined {
  const { type, sessionID } = asObject(ui.router.current());
  return type === "session" ? asString(sessionID) : undefined;
}

/** Runs something of ours in the host's program, where nothing may fail. */
function quietly<Result>(run: () => Result): Result | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

/** The option `store` of the part in the server: its configuration is asked for, since the terminal gets options of its own. */
async function findStore({ options, client }: TuiContext): Promise<string | undefined> {
  const own = asString(asObject(options).store);
  if (own !== undefined) return own;
  const asked = Promise.resolve(quietly(() => client.config?.get())).catch(() => undefined);
  const late = new Promise<void>((resolve) => setTimeout(resolve, CONFIG_MS).unref?.());
  const entries = asArray((await Promise.race([asked, late])) ?? []);
  const plugins = entries.flatMap((entry) => asArray(asObject(asObject(entry).info).plugins));
  const ours = plugins.map(asObject).findLast(({ package: name }) => /carryover/.test(asString(name) ?? ""));
  return asString(asObject(ours?.options).store) || undefined;
}

const CONFIG_MS = 3_000;

/** What the screen shows of a session, computed from what OpenCode knows and what the plugin has written. */
interface Screen {
  /** True for a session that this terminal knows. */
  isHere(sessionId: string): boolean;
  /** Reads what has changed. */
  look(): Promise<void>;
  rootOf(sessionId: string): string;
  forksOf(sessionId: string): readonly ForkLine[];
  statusOf(sessionId: string): string;
  reportOf(sessionId: string): Promise<string>;
  /** What a fork waits for. */
  askText(sessionId: string | undefined): string;
}

function createScreen(context: TuiContext, { watch, now }: ScreenSetup): Screen {
  const { session, location } = context.data;
  const asked = new Set<string>();

  /** From the first question on, OpenCode keeps the messages of the fork up to date. */
  function stepOf(sessionId: string): string | undefined {
    if (!asked.has(sessionId)) {
      asked.add(sessionId);
      session.message.sync(sessionId).catch(() => asked.delete(sessionId));
    }
    return quietly(() => lastStep(session.message.list(sessionId)));
  }

  function fillOf(sessionId: string): WindowFill | undefined {
    const models = location.model.list(asObject(session.get(sessionId)).location) ?? [];
    return windowFill(session.message.list(sessionId), models);
  }

  const forksOf = (sessionId: string): readonly ForkLine[] =>
    forkLines(watch.forks(), { rootSessionId: watch.rootOf(sessionId), nowMs: now(), stepOf, askOf });

  function askOf(sessionId: string): string | undefined {
    const { action, resources } = asObject(session.permission?.list(sessionId)?.at(-1));
    const what = [asString(action), ...asArray(resources).map(asString)].filter(Boolean).join(" ");
    return plainLine(what, MAX_ASK_CHARS) || undefined;
  }

  return {
    isHere: (sessionId) => session.get(sessionId) !== undefined,
    look: watch.look,
    rootOf: watch.rootOf,
    forksOf,
    statusOf: (sessionId) =>
      statusLine({
        left: whatLeft(watch.entriesOf(sessionId)),
        running: forksOf(sessionId).filter(({ tone }) => tone === "running" || tone === "asks").length,
      }),
    async reportOf(sessionId) {
      await session.message.sync(sessionId);
      const left = whatLeft(watch.entriesOf(sessionId));
      return contextReport({
        messages: session.message.list(sessionId),
        fill: fillOf(sessionId),
        left,
      });
    },
    askText(sessionId) {
      const what = sessionId === undefined ? undefined : askOf(sessionId);
      return `asks for a permission${what === undefined ? "" : `: ${what}`}`;
    },
  };
}

interface ScreenSetup {
  readonly watch: PluginWatch;
  readonly now: () => number;
}

const MAX_ASK_CHARS = 80;

/** `/forks` and `/context`; neither costs a turn of the model. */
function commandsOf(context: TuiContext, screen: Screen) {
  const run = (what: string, job: (sessionId: string) => Promise<void>) => () => {
    const sessionId = quietly(() => currentSession(context));
    if (sessionId === undefined) return showMessage(context, `${what} a conversation: open one first.`);
    const shown = screen.look().then(() => job(sessionId));
    shown.catch((cause: unknown) => showMessage(context, `That could not be shown: ${cause}`));
  };
  return [
    {
      id: "carryover.forks",
      title: "Forks",
      description: "List the forks of this conversation and go to one",
      group: "Carryover",
      palette: true,
      slash: { name: "forks" },
      run: run("Forks belong to", (sessionId) => showForks(context, screen, sessionId)),
    },
    {
      id: "carryover.context",
      title: "Context",
      description: "What fills the window, what left it and why",
      group: "Carryover",
      palette: true,
      slash: { name: "context" },
      run: run("The window belongs to", async (sessionId) => {
        const message = await screen.reportOf(sessionId);
        const shown = context.ui.dialog.alert({ title: "Context of this conversation", message });
        quietly(() => context.ui.dialog.set?.({ size: "large" }));
        await shown;
      }),
    },
  ];
}

async function showForks(context: TuiContext, screen: Screen, sessionId: string): Promise<void> {
  const forks = screen.forksOf(sessionId).filter(({ sessionId: child }) => child !== undefined);
  if (forks.length === 0) return showMessage(context, "This conversation has no forks.");
  const rootId = screen.rootOf(sessionId);
  const back = { title: "Back to the conversation", value: rootId };
  const choice = context.ui.dialog.select({
    title: "Forks of this conversation",
    options: [
      ...(sessionId === rootId ? [] : [back]),
      ...forks.map((fork) => ({
        title: fork.title,
        description: listLine(fork),
        value: fork.sessionId ?? "",
      })),
    ],
    current: sessionId,
  });
  quietly(() => context.ui.dialog.set?.({ size: "large" }));
  const sessionID = asString(await choice);
  if (sessionID !== undefined) context.ui.router.navigate({ type: "session", sessionID });
}

function showMessage({ ui }: TuiContext, message: string): void {
  quietly(() => ui.toast.show({ title: "Carryover", message, variant: "info" }));
}
