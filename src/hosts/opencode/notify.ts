import type { HostCalls } from "./host-calls.ts";
import { createRecentMap } from "./recent-map.ts";

/** Tells people: a toast where one looks, a line in the host's log. Never fails, never waits for longer than the host takes. */
export interface Notify {
  toast(message: string, variant?: ToastVariant): void;
  /** The same message is shown only once while the plugin runs. */
  toastOnce(message: string, variant?: ToastVariant): void;
  log(level: LogLevel, message: string, extra?: Readonly<Record<string, unknown>>): void;
}

export type ToastVariant = "info" | "success" | "warning" | "error";
export type LogLevel = "debug" | "info" | "warn" | "error";

export interface NotifyOptions {
  readonly calls: HostCalls;
  /** Lines below it are not written. */
  readonly level: LogLevel | "off";
}

export function createNotify({ calls, level }: NotifyOptions): Notify {
  const shown = createRecentMap<string, true>(MAX_SHOWN);
  const toast = (message: string, variant: ToastVariant = "info"): void => {
    void calls.call("POST", "/tui/show-toast", { title: "Carryover", message, variant });
  };
  return {
    toast,
    toastOnce(message, variant) {
      if (shown.get(message)) return;
      shown.set(message, true);
      toast(message, variant);
    },
    log(lineLevel, message, extra) {
      if (LEVELS.indexOf(lineLevel) < LEVELS.indexOf(level)) return;
      void calls.call("POST", "/log", {
        service: "carryover",
        level: lineLevel,
        message,
        ...(extra && { extra }),
      });
    },
  };
}

/** Messages hold reasons, of which there may be many. */
const MAX_SHOWN = 256;

const LEVELS: readonly (LogLevel | "off")[] = ["debug", "info", "warn", "error", "off"];
