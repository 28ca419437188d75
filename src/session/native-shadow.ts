import { compactionEdits } from "../compaction/plan/edits.ts";
import { isUnanswered } from "../compaction/plan/last-request.ts";
import { planCompaction } from "../compaction/plan/plan-compaction.ts";
import { foldSummary } from "../compaction/summary/fold-summary.ts";
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
import { findNativeBlock, type NativeBlock } from "./window.ts";

/** How a session stands to the compaction of a provider in its window. */
export interface NativeView {
  /** `asked`: we asked for it, and what is kept behind it is ours to edit; `unreadable`: the provider that is asked next cannot read it. */
  readonly block: "none" | "readable" | "asked" | "unreadable";
  /** `none`: there was nothing to make one of. */
  readonly shadow: "kept" | "due" | "none";
  readonly acts: "nothing" | "clears" | "compacts";
}

/** Reads it out of a session. */
export function readNativeView(view: SessionView): NativeView {
  const { state, window } = view;
  const { acts = "nothing", reads = "all" } = state.management;
  const { native } = window;
  if (native === undefined) return { block: "none", shadow: "none", acts };
  const isKept = findMessage(state.history, shadowId(native)) !== undefined;
  const isReadable =
    native.made === "asked" ? takesBlocks(view) : reads === "all" || reads.includes(native.provider);
  return {
    block: !isReadable ? "unreadable" : native.made === "asked" ? "asked" : "readable",
    shadow: isKept ? "kept" : isSpent(state, "keep-shadow") ? "none" : "due",
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
 * The edit that keeps a shadow beside the newest block: a summary of what the block stands for, made without a model,
 * that the model is not shown. Empty where nothing is known of what was there.
 */
export function keepShadowEdits(view: SessionView): readonly Edit[] {
  const { native } = view.window;
  const shadow = native && makeShadow(view, native);
  if (native === undefined || shadow === undefined) return [];
  return [{ type: "insert-message", message: shadow, after: native.messageId, ...WHY }];
}

/**
 * The edits that put the shadow in place of the newest block: what the block stands for is hidden, and so is the block,
 * unless it is in words. Whoever reads this needs no provider for it.
 */
export function useShadowEdits(view: SessionView): readonly Edit[] {
  const { native } = view.window;
  return native === undefined ? [] : editsInPlaceOf(view, native, view.state.history.transcript);
}

/** True for an error about a block that the provider was asked for and does not take back. */
export function isAboutBlock({ window }: SessionView, { message }: { readonly message: string }): boolean {
  return window.native?.made === "asked" && /\bcompaction\b/i.test(message);
}

const WHY = { stage: "native-compaction", reason: "summarized" } as const;

function editsInPlaceOf(view: SessionView, native: NativeBlock, transcript: Transcript): readonly Edit[] {
  const index = transcript.findIndex(({ id }) => id === native.messageId);
  const message = transcript[index];
  if (message === undefined) return [];
  const kept = findMessage(view.state.history, shadowId(native)) ?? makeShadow(view, native);
  const before = transcript[index - 1]?.id ?? null;
  return [
    ...transcript
      .slice(0, index)
      .filter((each) => each.role !== "system" && isVisibleToModel(each))
      .map((each) => hideMessage(each, WHY)),
    ...(kept === undefined ? [] : insertSummary(kept, native, before)),
    ...withoutBlock(message, native, kept),
  ];
}

/** A summary in the place of the block, as any compaction leaves it. */
function insertSummary(shadow: Message, native: NativeBlock, before: MessageId | null): readonly Edit[] {
  const { carried } = shadow.metadata ?? {};
  const isPivot = shadow.role === "assistant";
  const markerId = `${native.messageId}~marker`;
  const summary: Message = {
    ...shadow,
    id: `${native.messageId}~summary`,
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

/** A block in words stays as words; of another one nothing is left but, where there is no shadow, that it was there. */
function withoutBlock(message: Message, { partIndex, provider }: NativeBlock, shadow: Message | undefined) {
  const part = message.parts[partIndex] as Part;
  const earlier = message.parts
    .slice(0, partIndex)
    .flatMap((each, index) =>
      reachesModel(each) && each.type !== "tool"
        ? [hidePart({ message, partIndex: index, part: each }, WHY)]
        : [],
    );
  const words = part.type === "text" ? part.text : shadow === undefined ? lostNotice(provider) : undefined;
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

function shadowId({ messageId }: Pick<NativeBlock, "messageId">): MessageId {
  return `${messageId}~shadow`;
}

/** A summary of everything before a block that is there already. */
function makeShadow(view: SessionView, { messageId }: NativeBlock): Message | undefined {
  const { history, beforeNative } = view.state;
  const ahead = aheadOf(messageId, history.transcript) ?? [];
  const isThere = ahead.some((message) => message.role !== "system" && isVisibleToModel(message));
  if (isThere) return makeShadowOf(view, messageId, ahead);
  // Whoever compacts on demand takes away what was before the block.
  return makeShadowOf(view, messageId, aheadOf(messageId, beforeNative) ?? beforeNative);
}

/** What stands before a message; undefined where that is not there. */
function aheadOf(messageId: MessageId, transcript: Transcript): Transcript | undefined {
  const index = transcript.findIndex(({ id }) => id === messageId);
  return index === -1 ? undefined : transcript.slice(0, index);
}

/** A summary of what a block stands for; an earlier block in it is read by its own shadow. */
export function makeShadowOf(view: SessionView, blockId: MessageId, before: Transcript): Message | undefined {
  const { options, estimate, believed } = view;
  const older = findNativeBlock(before);
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
    limits: believed.estimateLimits,
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
    prose: foldSummary(plan.foldMaterial, {
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
    id: shadowId({ messageId: blockId }),
    role,
    parts,
    metadata: {
      kind: "compaction_shadow",
      agentVisible: false,
      userVisible: false,
      ...(metadata?.carried && { carried: metadata.carried }),
    },
  };
}
