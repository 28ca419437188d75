import type { Journal } from "../../session/journal.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { type RedactOptions, redactSecrets } from "../../text/secrets/redact-secrets.ts";
import type { SpillStore } from "../../tool-output/spill.ts";
import type {
  AgentHost,
  Handlers,
  HostSignal,
  LogLevel,
  ModelTool,
  SessionFacts,
  UserCommand,
} from "../host/agent-host.ts";
import type { HostScreen, ShownPiece, ToastTone } from "../host/host-parts.ts";
import { type PluginFolders, pluginFolders } from "../stores/folders.ts";
import { openPluginStores } from "../stores/open-stores.ts";
import { isDatabase, type PluginStores } from "../stores/plugin-stores.ts";
import type { PluginOptions } from "./options.ts";

/** What every feature of the plugin works with. */
export interface PluginContext {
  readonly host: AgentHost;
  readonly options: PluginOptions;
  readonly notify: Notify;
  /** Where files are kept; with a database only what belongs to this home. */
  readonly folders: PluginFolders;
  readonly stores: PluginStores;
  readonly spills: SpillStore;
  /** The usual secrets, and those of the option `redact`. */
  readonly redaction: RedactOptions;
  readonly tree: SessionTree;
  /** Where the present time comes from, in milliseconds. */
  readonly now: () => number;
  readonly env: Environment;
  /** Writes to the log of the root session that this one belongs to; a failed write is logged, never thrown. */
  record(sessionId: string, entry: JournalRecord): void;
  /** Shows something in a conversation that only people see; what cannot be shown is logged. Returns at once. */
  show(piece: ShownPiece): void;
  /** The log of one root session. */
  journal(rootSessionId: string): Journal;
}

/** One line of the plugin's journal; `inspect --live` reads nothing else. */
export interface JournalRecord {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The variables of the environment that the agent runs in. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface PluginContextSetup {
  readonly host: AgentHost;
  readonly options: PluginOptions;
  readonly env: Environment;
  readonly now?: () => number;
  /** A hook lives for one moment. */
  readonly usedBy?: "plugin" | "hook";
}

/** One thing that the plugin does, as the handlers, tools and commands it needs. */
export interface Feature extends Partial<Handlers> {
  readonly name: string;
  /** A fork's request or call must not go on where this feature fails. */
  readonly holdsForks?: true;
  readonly tools?: Readonly<Record<string, ModelTool>>;
  readonly commands?: Readonly<Record<string, UserCommand>>;
}

export function createPluginContext(setup: PluginContextSetup): PluginContext {
  const { host, options, env, now = Date.now, usedBy = "plugin" } = setup;
  const { store } = options;
  const folders = pluginFolders({ store: store !== undefined && isDatabase(store) ? undefined : store, env });
  const stores = openPluginStores({ store, folders, now, packageFolders: host.packageFolders, usedBy });
  const redaction = redactionOf(options);
  const clean = (text: string): string => redactSecrets(text, redaction);
  const notify = createNotify(host, { level: options.log, clean });
  const tree = createSessionTree(host);
  const journals = createLruMap<string, Journal>(MAX_JOURNALS);
  const journal = (rootSessionId: string): Journal => {
    const known = journals.get(rootSessionId);
    if (known !== undefined) return known;
    const opened = stores.journal(rootSessionId);
    journals.set(rootSessionId, opened);
    return opened;
  };
  const toasted = createLruMap<string, true>(MAX_SHOWN);
  /** What happened to the window, in a toast the first time in a session; the rest has a place of its own. */
  const tellFirst = (piece: ShownPiece): void => {
    if (piece.type !== "line" || !FIRST_TOLD.includes(piece.label)) return;
    const key = `${piece.label} ${piece.sessionId}`;
    if (host.attendance === "headless" || toasted.get(key)) return;
    toasted.set(key, true);
    notify.toast(`${piece.label}: ${piece.text}`);
  };
  return {
    host,
    options,
    notify,
    folders,
    stores,
    spills: stores.spills,
    redaction,
    tree,
    now,
    env,
    journal,
    show(piece) {
      if (host.screen.reach === "toasts") return tellFirst(piece);
      host.screen
        .show(piece)
        .catch((cause: unknown) => notify.log("warn", "not shown", { key: piece.key, cause: String(cause) }));
    },
    record(sessionId, entry) {
      const atMs = now();
      const write = async (): Promise<void> => {
        const written = await journal(await tree.rootOf(sessionId)).append({
          atMs,
          sessionId,
          ...entry,
          ...cleanFields(entry, clean),
        });
        if (written.status === "failed") notify.logOnce("warn", `journal not written: ${written.reason}`);
      };
      write().catch((cause: unknown) =>
        notify.log("error", "journal not written", { type: entry.type, cause: String(cause) }),
      );
    },
  };
}

/** The usual secrets, and those of the option `redact`. */
export function redactionOf({ redact }: Pick<PluginOptions, "redact">): RedactOptions {
  return { extraRules: redact.map((source) => ({ type: "own", pattern: new RegExp(source, "g") })) };
}

/** The fields in which a program says what went wrong: it may quote a key. */
function cleanFields(fields: Readonly<Record<string, unknown>>, clean: (text: string) => string) {
  const said = Object.entries(fields).filter(([name]) => /^(?:reason|error|cause)$/.test(name));
  return Object.fromEntries(
    said.map(([name, value]) => [name, typeof value === "string" ? clean(value) : value]),
  );
}

/** Labels of the lines that say what became of the window. */
const FIRST_TOLD: readonly string[] = ["cut", "pruned"];

/** A journal that was forgotten is opened again, and goes on in a file of its own. */
const MAX_JOURNALS = 256;

/** Tells people: a toast where one looks, a line in the agent's log. */
interface Notify {
  toast(message: string, tone?: ToastTone): void;
  /** Says the same of several in one sentence: "2 forks completed: 1 (a), 2 (b)". */
  toastOf(name: string, text: string, tone: ToastTone): void;
  /** The same message is shown only once while the plugin runs. */
  toastOnce(message: string, tone?: ToastTone): void;
  log(level: LogLevel, message: string, extra?: Readonly<Record<string, unknown>>): void;
  /** The same line is written only once while the plugin runs: a store that is gone stays gone. */
  logOnce(level: LogLevel, message: string): void;
}

/** Lines below the level are not written; nothing is shown before it was cleaned of secrets. */
function createNotify(host: AgentHost, { level, clean }: NotifyOptions): Notify {
  const shown = createLruMap<string, true>(MAX_SHOWN);
  const logged = createLruMap<string, true>(MAX_SHOWN);
  const log: Notify["log"] = (lineLevel, message, extra) => {
    if (LEVELS.indexOf(lineLevel) < LEVELS.indexOf(level)) return;
    host.log(lineLevel, clean(message), extra && { ...extra, ...cleanFields(extra, clean) });
  };
  const toasts = createToasts(host.screen);
  const toast = (message: string, tone: ToastTone = "info"): void =>
    toasts.add({ text: clean(message), tone });
  return {
    toast,
    toastOf(name, text, tone) {
      if (host.screen.reach === "toasts") log("info", `${name} ${text}`);
      else toasts.add({ name, text: clean(text), tone });
    },
    toastOnce(message, tone) {
      if (shown.get(message)) return;
      shown.set(message, true);
      toast(message, tone);
    },
    log,
    logOnce(lineLevel, message) {
      if (logged.get(message)) return;
      logged.set(message, true);
      log(lineLevel, message);
    },
  };
}

interface NotifyOptions {
  readonly level: PluginOptions["log"];
  readonly clean: (text: string) => string;
}

/** Messages hold reasons, of which there may be many. */
const MAX_SHOWN = 256;

const LEVELS: readonly PluginOptions["log"][] = ["debug", "info", "warn", "error", "off"];

/** Which session hangs under which, and our notes on them; the agent is asked once for each session that was used lately. */
interface SessionTree {
  /** The session itself when it has no parent or cannot be asked for. */
  rootOf(sessionId: string): Promise<string>;
  /** What the plugin stored with a session; undefined where there is nothing, or it cannot be asked for. */
  noteOf(sessionId: string): Promise<unknown>;
  /** Takes what is known of a session without being asked for. */
  learn(session: KnownSession): void;
  observe(signal: HostSignal): void;
}

type KnownSession = Pick<SessionFacts, "id" | "parentId" | "note">;

export function createSessionTree({ sessions }: Pick<AgentHost, "sessions">): SessionTree {
  const known = createLruMap<string, Promise<KnownSession | undefined>>(MAX_SESSIONS);
  const factsOf = (sessionId: string): Promise<KnownSession | undefined> => {
    const before = known.get(sessionId);
    if (before !== undefined) return before;
    const asked = sessions.get(sessionId).then((answer) => {
      if (answer.status === "ok") return answer.value;
      known.delete(sessionId);
      return undefined;
    });
    known.set(sessionId, asked);
    return asked;
  };
  const learn = ({ id, parentId, note }: KnownSession): void =>
    known.set(id, Promise.resolve({ id, note, ...(parentId !== undefined && { parentId }) }));
  return {
    noteOf: async (sessionId) => (await factsOf(sessionId))?.note,
    async rootOf(sessionId) {
      const seen = new Set<string>();
      for (let id = sessionId; ; ) {
        seen.add(id);
        const parent = (await factsOf(id))?.parentId;
        if (parent === undefined || seen.has(parent)) return id;
        id = parent;
      }
    },
    learn,
    observe(signal) {
      if (signal.type === "deleted") known.delete(signal.sessionId);
      else if (signal.type === "created") learn(signal.session);
    },
  };
}

const MAX_SESSIONS = 4_096;

/**
 * Collects messages and shows them as one, since a screen has room for one at a time: those that come close together, and
 * with them what was said of forks so short a time ago that it would be replaced before it was read.
 */
export function createToasts(screen: Pick<HostScreen, "toast">): Toasts {
  let recent: readonly Toast[] = [];
  let shownAtMs = Number.NEGATIVE_INFINITY;
  let waiting: Toast[] = [];
  let sinceMs: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    const isRead = Date.now() - shownAtMs > READ_MS;
    const toasts = newestOf([...(isRead ? [] : recent), ...waiting]);
    recent = toasts.filter(({ name }) => name !== undefined);
    shownAtMs = Date.now();
    waiting = [];
    sinceMs = undefined;
    const { message, tone, durationMs } = joinToasts(toasts);
    screen.toast(message, tone, { durationMs });
  };
  return {
    add(toast) {
      waiting.push(toast);
      sinceMs ??= Date.now();
      clearTimeout(timer);
      timer = setTimeout(flush, Math.max(0, Math.min(QUIET_MS, sinceMs + MOST_MS - Date.now())));
      timer.unref?.();
    },
  };
}

/** Of each fork only what was said last. */
function newestOf(toasts: readonly Toast[]): readonly Toast[] {
  return toasts.filter(
    ({ name }, index) => name === undefined || toasts.findLastIndex((other) => other.name === name) === index,
  );
}

interface Toasts {
  /** Returns at once. */
  add(toast: Toast): void;
}

interface Toast {
  /** What the text goes on from: "Fork 1 (tests)". */
  readonly name?: string;
  readonly text: string;
  readonly tone: ToastTone;
}

/** From the newest message to the toast. */
const QUIET_MS = 400;
/** From the oldest message to the toast. */
const MOST_MS = 1_500;
/** A toast that stood for so long was read. */
const READ_MS = 6_000;

/** Several messages as one: those that say the same of several forks in one sentence, the most serious first. */
export function joinToasts(toasts: readonly Toast[]): JoinedToast {
  const groups = new Map<string, { readonly toast: Toast; readonly names: string[] }>();
  for (const toast of toasts) {
    const key = `${toast.tone} ${toast.name !== undefined} ${toast.text}`;
    const group = groups.get(key) ?? { toast, names: [] };
    groups.set(key, group);
    if (toast.name !== undefined && !group.names.includes(toast.name)) group.names.push(toast.name);
  }
  const sorted = [...groups.values()].toSorted(
    (a, b) => TONES.indexOf(b.toast.tone) - TONES.indexOf(a.toast.tone),
  );
  const lines = sorted.map(({ toast, names }) => sentence(toast.text, names));
  const shown = lines.slice(0, MAX_LINES);
  const rest = lines.length - shown.length;
  return {
    message: [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join("\n"),
    tone: sorted[0]?.toast.tone ?? "info",
    durationMs: Math.min(MAX_MS, LINE_MS * (shown.length + 1)),
  };
}

interface JoinedToast {
  readonly message: string;
  readonly tone: ToastTone;
  /** Long enough to be read. */
  readonly durationMs: number;
}

function sentence(text: string, names: readonly string[]): string {
  const [name] = names;
  if (name === undefined) return text;
  if (names.length === 1) return `${name} ${text}`;
  const [what = "", ...reason] = text.split(": ");
  const which = names.map((each) => each.replace(/^Fork /, "")).join(", ");
  return `${names.length} forks ${what}: ${which}${reason.length > 0 ? ` (${reason.join(": ")})` : ""}`;
}

const TONES: readonly ToastTone[] = ["info", "success", "warning", "error"];
const MAX_LINES = 6;
const LINE_MS = 4_000;
const MAX_MS = 20_000;
