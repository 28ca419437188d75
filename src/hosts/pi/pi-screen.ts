import { NOTHING_DONE, statusOf } from "../../agents/files/report.ts";
import { OWN_TYPE } from "../../formats/files/pi/read-pi-lines.ts";
import type { HostScreen } from "../../plugin/host/host-parts.ts";
import { clipLine } from "../../text/clip.ts";
import { plural } from "../../text/format-number.ts";
import type { PiHostSetup } from "./pi-api.ts";

/** What was done in the status line, forks at work above the editor. */
export function createScreen({ current, env }: PiHostSetup): PiScreen {
  const children = new Map<string, string>();
  async function draw(): Promise<void> {
    const open = current();
    if (!open?.hasUI) return;
    const { ui, sessionManager } = open;
    ui.setWidget(OWN_TYPE, children.size > 0 ? [...children.values()] : undefined);
    const forks = children.size > 0 ? [plural(children.size, "fork")] : [];
    const status = await statusOf(sessionManager.getSessionId(), env, forks);
    ui.setStatus(OWN_TYPE, status === NOTHING_DONE ? undefined : status);
  }
  return {
    toast: (text, tone) => current()?.ui.notify(text, tone === "success" ? "info" : tone),
    async show(piece) {
      if (piece.type === "child" && piece.state !== "running") children.delete(piece.key);
      else if (piece.type === "child")
        children.set(piece.key, clipLine(`⑂ ${piece.name}: ${piece.text}`, WIDGET_CHARS));
      await draw();
      return "shown";
    },
    open: async () => "not-opened",
    draw,
  };
}

const WIDGET_CHARS = 120;

export interface PiScreen extends HostScreen {
  /** Draws again what stands there. */
  draw(): Promise<void>;
}
