import { asNumber, asObject, asString } from "../../text/unknown-value.ts";
import { type CarriedFacts, readCarriedFacts } from "../../transcript/carried-facts.ts";
import type { Handle } from "../../transcript/edit.ts";
import type { HostFormat, HostMessage } from "../host/agent-host.ts";
import type { RequestStore, StoredRequest } from "./requests.ts";

/** What a compaction of ours took out of a window, and what it left there. */
export interface ArchivedWindow {
  /** The window before it, as it would have been sent. */
  readonly messages: readonly HostMessage[];
  /** The compaction before it, and how many of the messages come from there. */
  readonly earlier?: { readonly handle: Handle; readonly count: number };
  /** The messages that stay word for word behind the summary. */
  readonly kept: readonly HostMessage[];
  /** The summary without its facts. */
  readonly prose: string;
  /** The whole summary, but for its last line. */
  readonly text: string;
  readonly carried: CarriedFacts | undefined;
}

/** Keeps what compactions of ours took away. The handle of an archived window stands at the end of its summary, so nothing else has to be remembered. */
interface ArchivedWindows {
  /** The handle, or why nothing was kept. */
  put(archivedWindow: ArchivedWindow): Promise<{ readonly handle: Handle } | { readonly reason: string }>;
  get(handle: Handle): Promise<ArchivedWindow | undefined>;
  /** Everything that was ever compacted up to this one, each message once, oldest first. */
  messagesUpTo(handle: Handle): Promise<readonly HostMessage[]>;
  /** The same for every summary of ours among messages that were sent. */
  messagesBefore(sent: readonly HostMessage[]): Promise<readonly HostMessage[]>;
}

export function createArchivedWindows({ requests, format }: ArchivedWindowsSetup): ArchivedWindows {
  const archivedWindows: ArchivedWindows = {
    async put({ messages, ...promptHead }) {
      const stored = await requests.put({ messages, promptHead });
      return stored.status === "stored" ? { handle: stored.blob } : { reason: stored.reason };
    },
    async get(handle) {
      const found = await requests.get(handle);
      return found.status === "found" ? readArchivedWindow(found) : undefined;
    },
    async messagesUpTo(handle) {
      const pieces: (readonly HostMessage[])[] = [];
      for (let next: Handle | undefined = handle; next !== undefined; ) {
        const archivedWindow: ArchivedWindow | undefined = await archivedWindows.get(next);
        if (archivedWindow === undefined) break;
        pieces.unshift(archivedWindow.messages.slice(archivedWindow.earlier?.count ?? 0));
        next = archivedWindow.earlier?.handle;
      }
      return pieces.flat();
    },
    async messagesBefore(sent) {
      const handles = (format.checkpoints?.find(sent) ?? []).flatMap(
        ({ summary }) => handleIn(summary) ?? [],
      );
      return (await Promise.all(handles.map(archivedWindows.messagesUpTo))).flat();
    },
  };
  return archivedWindows;
}

interface ArchivedWindowsSetup {
  readonly requests: RequestStore;
  readonly format: HostFormat;
}

function readArchivedWindow({ messages, promptHead }: StoredRequest): ArchivedWindow | undefined {
  const { kept, prose, text, carried, earlier } = asObject(promptHead);
  if (!Array.isArray(kept) || typeof prose !== "string" || typeof text !== "string") return undefined;
  const handle = asString(asObject(earlier).handle);
  return {
    messages,
    kept,
    prose,
    text,
    carried: readCarriedFacts(carried),
    ...(handle !== undefined && { earlier: { handle, count: asNumber(asObject(earlier).count) ?? 0 } }),
  };
}

/** The last line of a summary of ours. */
export function handleLine(handle: Handle, hasRecall: boolean): string {
  const how = hasRecall
    ? "recall gives it by the handles above, by a search, or"
    : "by the handles above, or";
  return `[Everything before this is kept: ${how} whole by ${handle}]`;
}

/** The handle of the window that a summary stands for; undefined for a summary that is not ours. */
export function handleIn(summary: string): Handle | undefined {
  return HANDLE_LINE.exec(summary)?.[1];
}

const HANDLE_LINE = /\[Everything before this is kept: .* whole by ([0-9a-f]{64})\]\s*$/;
