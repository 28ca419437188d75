import { randomUUID } from "node:crypto";
import { appendFile, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ToastTone } from "../../plugin/host/host-parts.ts";
import { projectFolder } from "../../plugin/stores/folders.ts";
import { jsonOrText } from "../../text/json.ts";
import { asNumber, asObject, asString } from "../../text/unknown-value.ts";

/**
 * What the half in the server has to say to a person, on its way to a terminal: only that half reaches the screen of
 * OpenCode 2. A line waits in a file for its folder until a terminal there takes it, and one alone does.
 */
export function createNotices({ root, now = Date.now }: NoticesSetup): Notices {
  const fileOf = (directory: string): string => join(root, `notices-${projectFolder(directory)}.jsonl`);
  let last: Promise<void> = Promise.resolve();
  return {
    leave(directory, notice) {
      const write = async (): Promise<void> => {
        await mkdir(root, { recursive: true, mode: 0o700 });
        const { size } = await stat(fileOf(directory)).catch(() => ({ size: 0 }));
        if (size > MAX_BYTES) return;
        const line = JSON.stringify({ atMs: now(), ...notice });
        await appendFile(fileOf(directory), `${line}\n`, { mode: 0o600 });
      };
      // What cannot be left stands in the log.
      last = last.then(write).catch(() => {});
    },
    async take(directory) {
      const own = `${fileOf(directory)}.${randomUUID()}`;
      try {
        // Of several terminals one renames it.
        await rename(fileOf(directory), own);
      } catch {
        return [];
      }
      const text = await readFile(own, "utf8").catch(() => "");
      await rm(own, { force: true });
      const notices = text.split("\n").flatMap((line) => readNotice(line, now() - MAX_AGE_MS));
      return notices.filter(
        ({ text: said }, index) => notices.findLastIndex((other) => other.text === said) === index,
      );
    },
  };
}

interface Notices {
  /** Returns at once. */
  leave(directory: string, notice: Notice): void;
  /** What waits for a folder, oldest first and each text once; each is handed out once. */
  take(directory: string): Promise<readonly Notice[]>;
}

interface NoticesSetup {
  /** The plugin's folder. */
  readonly root: string;
  readonly now?: () => number;
}

interface Notice {
  readonly text: string;
  readonly tone: ToastTone;
}

/** The names of its files in the plugin's folder. */
export const NOTICES_FILE: RegExp = /^notices-[0-9a-f]{16}\.jsonl/;

/** A notice that was not read for this long is dropped. */
const MAX_AGE_MS = 86_400_000;

/** Where no terminal ever comes. */
const MAX_BYTES = 65_536;

function readNotice(line: string, oldestMs: number): readonly Notice[] {
  const { atMs, text, tone } = asObject(jsonOrText(line));
  const said = asString(text);
  if (said === undefined || (asNumber(atMs) ?? 0) < oldestMs) return [];
  return [{ text: said, tone: TONES.find((each) => each === tone) ?? "info" }];
}

const TONES: readonly ToastTone[] = ["info", "success", "warning", "error"];
