import { asNumber, asObject, asString } from "../../text/unknown-value.ts";
import { type CarriedFacts, readCarriedFacts } from "../../transcript/carried-facts.ts";
import type { Handle } from "../../transcript/edit.ts";
import type { HostFormat, HostMessage } from "../host/agent-host.ts";
import type { StoredView, ViewStore } from "./views.ts";

/** What a compaction of ours took out of a window, and what it left there. */
export interface Fold {
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

/** Keeps what compactions of ours folded. The handle of a fold stands at the end of its summary, so nothing else has to be remembered. */
interface Folds {
  /** The handle, or why nothing was kept. */
  put(fold: Fold): Promise<{ readonly handle: Handle } | { readonly reason: string }>;
  get(handle: Handle): Promise<Fold | undefined>;
  /** Everything that was ever folded up to this one, each message once, oldest first. */
  messagesUpTo(handle: Handle): Promise<readonly HostMessage[]>;
  /** The same for every summary of ours among messages that were sent. */
  messagesBefore(sent: readonly HostMessage[]): Promise<readonly HostMessage[]>;
}

export function createFolds({ views, format }: FoldsSetup): Folds {
  const folds: Folds = {
    async put({ messages, ...frame }) {
      const stored = await views.put({ messages, frame });
      return stored.status === "stored" ? { handle: stored.blob } : { reason: stored.reason };
    },
    async get(handle) {
      const found = await views.get(handle);
      return found.status === "found" ? readFold(found) : undefined;
    },
    async messagesUpTo(handle) {
      const pieces: (readonly HostMessage[])[] = [];
      for (let next: Handle | undefined = handle; next !== undefined; ) {
        const fold: Fold | undefined = await folds.get(next);
        if (fold === undefined) break;
        pieces.unshift(fold.messages.slice(fold.earlier?.count ?? 0));
        next = fold.earlier?.handle;
      }
      return pieces.flat();
    },
    async messagesBefore(sent) {
      const handles = (format.checkpoints?.find(sent) ?? []).flatMap(
        ({ summary }) => handleIn(summary) ?? [],
      );
      return (await Promise.all(handles.map(folds.messagesUpTo))).flat();
    },
  };
  return folds;
}

interface FoldsSetup {
  readonly views: ViewStore;
  readonly format: HostFormat;
}

function readFold({ messages, frame }: StoredView): Fold | undefined {
  const { kept, prose, text, carried, earlier } = asObject(frame);
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
export function foldLine(handle: Handle, hasRecall: boolean): string {
  const how = hasRecall
    ? "recall gives it by the handles above, by a search, or"
    : "by the handles above, or";
  return `[Everything before this is kept: ${how} whole by ${handle}]`;
}

/** The handle of the fold that a summary stands for; undefined for a summary that is not ours. */
export function handleIn(summary: string): Handle | undefined {
  return FOLD_LINE.exec(summary)?.[1];
}

const FOLD_LINE = /\[Everything before this is kept: .* whole by ([0-9a-f]{64})\]\s*$/;
