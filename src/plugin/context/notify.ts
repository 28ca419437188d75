import { createLruMap } from "../../text/lru-map.ts";
import type { AgentHost, LogLevel } from "../host/agent-host.ts";
import type { ToastTone } from "../host/host-parts.ts";
import type { PluginOptions } from "./options.ts";
import { createToasts } from "./toasts.ts";

/** Tells people: a toast where one looks, a line in the agent's log. */
export interface Notify {
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
export function createNotify(host: AgentHost, { level, clean }: NotifyOptions): Notify {
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

const LEVELS: readonly PluginOptions["log"][] = ["debug", "info", "warn", "error", "off"];

/** The fields in which a program says what went wrong: it may quote a key. */
export function cleanFields(
  fields: Readonly<Record<string, unknown>>,
  clean: (text: string) => string,
): Readonly<Record<string, unknown>> {
  const said = Object.entries(fields).filter(([name]) => /^(?:reason|error|cause)$/.test(name));
  return Object.fromEntries(
    said.map(([name, value]) => [name, typeof value === "string" ? clean(value) : value]),
  );
}

/** Messages hold reasons, of which there may be many. */
const MAX_SHOWN = 256;
