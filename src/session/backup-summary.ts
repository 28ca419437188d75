import { compactionEdits } from "../compaction/plan/edits.ts";
import { isUnanswered } from "../compaction/plan/last-request.ts";
import { planCompaction } from "../compaction/plan/plan-compaction.ts";
import { localSummary } from "../compaction/summary/local-summary.ts";
import { omitUndefined } from "../text/unknown-value.ts";
import { applyEdits, type Edit, hideMessage, hidePart } from "../transcript/edit.ts";
import {
  isVisibleToModel,
  type Message,
  type MessageId,
  reachesModel,
  type Transcript,
} from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { findMessage } from "./history.ts";
import { factsOf } from "./model-window.ts";
import { isSpent } from "./state.ts";
import type { SessionView } from "./view.ts";
import { findProviderBlock, type PlacedProviderBlock } from "./window.ts";

/** How a session stands to the compaction of a provider in its window. */
export interface ProviderBlockState {
  /** `asked`: we asked for it, and what is kept behind it is ours to edit; `unreadable`: the provider that is asked next cannot read it. */
  readonly block: "none" | "readable" | "asked" | "unreadable";
  /** `none`: there was nothing to make one of. */
  readonly backup: "kept" | "due" | "none";
  readonly acts: "nothing" | "clears" | "compacts";
}

/** Reads it out of a session. */
export function providerBlockState(view: SessionView): ProviderBlockState {
  const { state, window } = view;
  const { acts = "nothing", reads = "all" } = state.management;
  const { providerBlock } = window;
  if (providerBlock === undefined) return { block: "none", backup: "none", acts };
  const isKept = findMessage(state.history, backupId(providerBlock)) !== undefined;
  const isReadable =
    providerBlock.made === "asked"
      ? takesBlocks(view)
      : reads === "all" || reads.includes(providerBlock.provider);
  return {
    block: !isReadable ? "unreadable" : providerBlock.made === "asked" ? "asked" : "readable",
    backup: isKept ? "kept" : isSpent(state, "keep-backup-summary") ? "none" : "due",
    acts,
  };
}

/** True where the provider of the model compacts when it is asked, and the host can ask it and send its blocks. */
export function takesBlocks({ state, ports, options }: SessionView): boolean {
  const { model } = state;
  if (model === undefined || ports.summarizer?.byProvider === undefined) return false;
  return factsOf(state, options).compaction === "on-demand" && !/bedrock/i.test(model.provider);
}

/**
 * The edit that keeps a backup summary beside the newest block: a summary of what the block stands for, made without a
 * model, that the model is not shown. Empty where nothing is known of what was there.
 */
export function keepBackupEdits(view: SessionView): readonly Edit[] {
  const { providerBlock } = view.window;
  const backup = providerBlock && makeBackup(view, providerBlock);
  if (providerBlock === undefined || backup === undefined) return [];
  return [{ type: "insert-message", message: backup, after: providerBlock.messageId, ...WHY }];
}

/**
 * The edits that put the backup summary in place of the newest block: what the block stands for is hidden, and so is
 * the block, unless it is in words. Whoever reads this needs no provider for it.
 */
export function useBackupEdits(view: SessionView): readonly Edit[] {
  const { providerBlock } = view.window;
  return providerBlock === undefined
    ? []
    : editsInPlaceOf(view, providerBlock, view.state.history.transcript);
}

/** True for an error about a block that the provider was asked for and does not take back. */
export function isAboutBlock({ window }: SessionView, { message }: { readonly message: string }): boolean {
  return window.providerBlock?.made === "asked" && /\bcompaction\b/i.test(message);
}

const WHY = { stage: "provider-compaction", reason: "summarized" } as const;

function editsInPlaceOf(
  view: SessionView,
  providerBlock: PlacedProviderBlock,
  transcript: Transcript,
): readonly Edit[] {
  const index = transcript.findIndex(({ id }) => id === providerBlock.messageId);
  const message = transcript[index];
  if (message === undefined) return [];
  const kept = findMessage(view.state.history, backupId(providerBlock)) ?? makeBackup(view, providerBlock);
  const before = transcript[index - 1]?.id ?? null;
  return [
    ...transcript
      .slice(0, index)
      .filter((each) => each.role !== "system" && isVisibleToModel(each))
      .map((each) => hideMessage(each, WHY)),
    ...(kept === undefined ? [] : insertSummary(kept, providerBlock, before)),
    ...withoutBlock(message, providerBlock, kept),
  ];
}

/** A summary in the place of the block, as any compaction leaves it. */
function insertSummary(
  backup: Message,
  providerBlock: PlacedProviderBlock,
  before: MessageId | null,
): readonly Edit[] {
  const { carried } = backup.metadata ?? {};
  const isPivot = backup.role === "assistant";
  const markerId = `${providerBlock.messageId}~marker`;
  const summary: Message = {
    ...backup,
    id: `${providerBlock.messageId}~summary`,
    metadata: { kind: "compaction_summary", ...(carried && { carried }) },
  };
  if (!isPivot) return [{ type: "insert-message", message: summary, after: before, ...WHY }];
  const marker: Message = {
    id: markerId,
    role: "user",
    parts: [{ type: "compaction", trigger: "auto" }],
    metadata: { kind: "compaction_marker" },
  };
  return [
    { type: "insert-message", message: marker, after: before, ...WHY },
    {
      type: "insert-message",
      message: { ...summary, summary: true, finish: "stop", parentId: markerId },
      after: markerId,
      ...WHY,
    },
  ];
}

/** A block in words stays as words; of another one nothing is left but, where there is no backup summary, that it was there. */
function withoutBlock(
  message: Message,
  { partIndex, provider }: PlacedProviderBlock,
  backup: Message | undefined,
) {
  const part = message.parts[partIndex] as Part;
  const earlier = message.parts
    .slice(0, partIndex)
    .flatMap((each, index) =>
      reachesModel(each) && each.type !== "tool"
        ? [hidePart({ message, partIndex: index, part: each }, WHY)]
        : [],
    );
  const words = part.type === "text" ? part.text : backup === undefined ? lostNotice(provider) : undefined;
  const isAlone = message.parts.every((each, index) => index <= partIndex || !reachesModel(each));
  const messageId = message.id;
  const replaced: Edit =
    words !== undefined
      ? { type: "replace-part", messageId, partIndex, part: { type: "text", text: words }, ...WHY }
      : isAlone
        ? hideMessage(message, WHY)
        : hidePart({ message, partIndex, part }, WHY);
  return [...earlier, replaced];
}

function lostNotice(provider: string): string {
  return `[The conversation before this was compacted by ${provider} and cannot be read here.]`;
}

function backupId({ messageId }: Pick<PlacedProviderBlock, "messageId">): MessageId {
  return `${messageId}~backup`;
}

/** A summary of everything before a block that is there already. */
function makeBackup(view: SessionView, { messageId }: PlacedProviderBlock): Message | undefined {
  const { history, beforeProviderBlock } = view.state;
  const ahead = aheadOf(messageId, history.transcript) ?? [];
  const isThere = ahead.some((message) => message.role !== "system" && isVisibleToModel(message));
  if (isThere) return makeBackupOf(view, messageId, ahead);
  // Whoever compacts on demand takes away what was before the block.
  return makeBackupOf(view, messageId, aheadOf(messageId, beforeProviderBlock) ?? beforeProviderBlock);
}

/** What stands before a message; undefined where that is not there. */
function aheadOf(messageId: MessageId, transcript: Transcript): Transcript | undefined {
  const index = transcript.findIndex(({ id }) => id === messageId);
  return index === -1 ? undefined : transcript.slice(0, index);
}

/** A summary of what a block stands for; an earlier block in it is read by its own backup summary. */
export function makeBackupOf(view: SessionView, blockId: MessageId, before: Transcript): Message | undefined {
  const { options, estimate, knownLimits } = view;
  const older = findProviderBlock(before);
  const readable = older ? applyEdits(before, editsInPlaceOf(view, older, before), { at: 0 }) : before;
  // With an answer behind it the newest request is folded too: the block stands for it.
  const answer: Message = {
    id: blockId,
    role: "assistant",
    parts: [{ type: "reasoning", text: "compaction" }],
  };
  const plan = planCompaction({
    transcript: isUnanswered(readable.filter(isVisibleToModel)) ? [...readable, answer] : readable,
    trigger: "manual",
    representation: options.representation,
    tailTokens: 0,
    limits: knownLimits.estimateLimits,
    // No model is asked, so nothing has to be cut to fit a request.
    summarizer: { windowTokens: Number.MAX_SAFE_INTEGER },
    autoContinue: "never",
    estimate,
    redaction: options.redaction,
    ...omitUndefined({ pins: options.pins }),
  });
  if (plan.status === "nothing") return undefined;
  const { maxSummaryTokens: maxTokens } = plan.material;
  const edits = compactionEdits(plan, {
    prose: localSummary(plan.localSummaryMaterial, {
      maxTokens,
      ...omitUndefined({ estimator: plan.estimate.estimator }),
    }),
    degraded: true,
    factsShare: 1,
    wordsShare: 1,
    pinsShare: 1,
    continuation: "suppressed",
  });
  const summary = edits.flatMap((edit) =>
    edit.type === "insert-message" && edit.message.id === plan.ids.summary ? [edit.message] : [],
  )[0];
  if (summary === undefined) return undefined;
  const { role, parts, metadata } = summary;
  return {
    id: backupId({ messageId: blockId }),
    role,
    parts,
    metadata: {
      kind: "backup_summary",
      agentVisible: false,
      userVisible: false,
      ...(metadata?.carried && { carried: metadata.carried }),
    },
  };
}
