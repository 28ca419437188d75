import type { HostScreen, ToastTone } from "../host/host-parts.ts";

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
