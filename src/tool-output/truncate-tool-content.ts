import type { RedactOptions } from "../text/secrets/redact-secrets.ts";
import { binaryNotice, composeBlocks, cutNotice, notSavedNotice } from "./compose-blocks.ts";
import { cutText, outputStats, shownSize, type ToolOutputResult } from "./cut-text.ts";
import {
  addSizes,
  DEFAULT_TOOL_OUTPUT_LIMITS,
  isWithinLimits,
  NO_SIZE,
  type RawToolOutputLimits,
  resolveToolOutputLimits,
  type TextSize,
  type ToolOutputLimits,
  textSize,
} from "./limits.ts";
import {
  type BinaryPiece,
  binaryType,
  isBytesBlock,
  isTextBlock,
  joinTexts,
  markOf,
  rawContent,
  readToolText,
  type TextBlock,
  type ToolContentBlock,
  type ToolText,
  type Treatment,
  withMark,
} from "./read-blocks.ts";
import { type SpillFailure, type SpillRef, type SpillStore, spillOutput } from "./spill.ts";

/**
 * Bounds one tool output before it enters the context: cleans it, keeps what the limits allow, says what is missing,
 * and leaves the whole of it in the store. Only unusable limits make it throw; a failed write does not.
 */
export async function truncateToolContent<Block extends ToolContentBlock>(
  blocks: readonly Block[],
  limits: RawToolOutputLimits | undefined = DEFAULT_TOOL_OUTPUT_LIMITS,
  store?: SpillStore,
  options: ToolOutputOptions = {},
): Promise<ToolOutputResult<Block | TextBlock>> {
  const resolved = resolveToolOutputLimits(limits);
  const { normalize = "on", redact } = options;
  const treatment: Treatment = { isNormalized: normalize === "on", isRedacted: redact !== undefined };
  const shownBefore = sizeIfBounded(blocks, { limits: resolved, treatment });
  if (shownBefore !== undefined) return untruncated(blocks, shownBefore);

  const content = readToolText(blocks, { treatment, redact });
  const spills = await spillContent(content, { limits: resolved, store, options });
  const isOver = !isWithinLimits(content.size, resolved);
  if (!isOver && spills.text === undefined && spills.binaries.size === 0) {
    return untruncated(withCleanedTexts(blocks, { content, treatment }), content.size);
  }
  return bound(content, { limits: resolved, spills, treatment, recallTool: options.recallTool ?? "recall" });
}

/** What may be chosen beside the limits. */
export interface ToolOutputOptions {
  /** Whether terminal escapes, overwritten states and invisible characters are taken out before counting; default on. */
  readonly normalize?: "on" | "off";
  /** Given: secrets are replaced before anything is cut; what the store keeps stays raw. */
  readonly redact?: RedactOptions;
  /** Whether an output below the threshold is stored too when something of it is left out; default on. */
  readonly spillTruncated?: "on" | "off";
  /** The tool by which the model can read what the store keeps; named in notices. */
  readonly recallTool?: string;
  /** Ends the waiting for a store that does not answer. */
  readonly signal?: AbortSignal;
}

function untruncated<Block>(blocks: readonly Block[], size: TextSize): ToolOutputResult<Block> {
  return { blocks, truncated: false, by: "none", stats: outputStats(size, size) };
}

function withCleanedTexts<Block extends ToolContentBlock>(
  blocks: readonly Block[],
  { content, treatment }: { readonly content: ToolText<Block>; readonly treatment: Treatment },
): readonly (Block | TextBlock)[] {
  const { pieces, size } = content;
  if (pieces.every((piece) => piece.type !== "text" || piece.text === piece.raw)) return blocks;
  return pieces.map(({ block, ...piece }) => {
    if (piece.type !== "text" || piece.text === piece.raw) return block;
    const cleaned: TextBlock = { ...(isTextBlock(block) ? block : { type: "text" }), text: piece.text };
    return withMark(cleaned, { shown: size, treatment });
  });
}

interface SpillPlan {
  readonly limits: ToolOutputLimits;
  readonly store: SpillStore | undefined;
  readonly options: ToolOutputOptions;
}

/** What the store said; unset where it was not asked. */
interface Spills<Block> {
  readonly isLarge: boolean;
  readonly text: SpillOutcome;
  readonly binaries: ReadonlyMap<BinaryPiece<Block>, SpillOutcome>;
}

type SpillOutcome = SpillRef | SpillFailure | undefined;

async function spillContent<Block>(
  { pieces, size }: ToolText<Block>,
  { limits, store, options }: SpillPlan,
): Promise<Spills<Block>> {
  const { spillTruncated = "on", signal } = options;
  const put = async (raws: readonly (string | Uint8Array)[]): Promise<SpillOutcome> =>
    store === undefined ? undefined : spillOutput(rawContent(raws), { store, signal });

  const isLarge = limits.largeOutputThreshold > 0 && size.chars > limits.largeOutputThreshold;
  const isCut = !isWithinLimits(size, limits);
  const isWanted = isLarge || (isCut && spillTruncated === "on");
  const raws = pieces.flatMap((piece) => (piece.type === "text" ? [piece.raw] : []));
  const text = isWanted ? await put(raws) : undefined;

  const binaries = new Map<BinaryPiece<Block>, SpillOutcome>();
  for (const piece of pieces) {
    if (piece.type !== "binary") continue;
    binaries.set(piece, spillTruncated === "on" ? await put([piece.raw]) : undefined);
  }
  return { isLarge, text, binaries };
}

interface Bounds<Block> {
  readonly limits: ToolOutputLimits;
  readonly spills: Spills<Block>;
  readonly treatment: Treatment;
  readonly recallTool: string;
}

function bound<Block extends ToolContentBlock>(
  content: ToolText<Block>,
  { limits, spills, treatment, recallTool }: Bounds<Block>,
): ToolOutputResult<Block | TextBlock> {
  const { pieces, size, removed } = content;
  const spill = spills.text?.status === "stored" ? spills.text : undefined;
  const failure = spills.text?.status === "failed" ? spills.text : undefined;
  const isReplaced = spills.isLarge && spill !== undefined;

  const text = joinTexts(pieces.flatMap((piece) => (piece.type === "text" ? [piece.text] : [])));
  const cut = cutText(text, { size, limits: isReplaced ? previewLimits(limits) : limits });
  const shown = cut.by === "none" ? size : shownSize(text, cut);
  const binaryBytes = [...spills.binaries.keys()].reduce((bytes, { raw }) => bytes + bytesOf(raw), 0);
  const textStats = outputStats(shown, size);
  const stats = outputStats(shown, { ...size, bytes: size.bytes + binaryBytes });
  const by = isReplaced || (cut.by === "none" && spills.binaries.size > 0) ? "spill" : cut.by;

  const blocks = composeBlocks({
    pieces,
    text,
    cut,
    stats: textStats,
    shown,
    treatment,
    before: failure === undefined ? "" : notSavedNotice(failure),
    after: cut.by === "none" ? "" : cutNotice({ by, stats: textStats, removed, spill, recallTool }),
    noticeOf: (piece) =>
      binaryNotice({
        type: binaryType(piece.raw, isBytesBlock(piece.block) ? piece.block.mimeType : undefined),
        bytes: bytesOf(piece.raw),
        spill: spills.binaries.get(piece),
      }),
  });
  return { blocks, truncated: by !== "none", by, stats, ...reference(spills) };
}

/** A preview is smaller than what made it necessary, even where the limits are off. */
function previewLimits(limits: ToolOutputLimits): ToolOutputLimits {
  const { maxChars, largeOutputThreshold } = limits;
  return {
    ...limits,
    maxChars: maxChars === 0 ? largeOutputThreshold : Math.min(maxChars, largeOutputThreshold),
  };
}

function bytesOf(raw: string | Uint8Array): number {
  return typeof raw === "string" ? textSize(raw.toWellFormed()).bytes : raw.byteLength;
}

function reference<Block>({ text, binaries }: Spills<Block>): Partial<ToolOutputResult<Block>> {
  const outcomes = [text, ...binaries.values()];
  const stored = outcomes.find((outcome) => outcome?.status === "stored");
  const failure = outcomes.find((outcome) => outcome?.status === "failed");
  return {
    ...(stored && { handle: stored.handle, sha256: stored.sha256 }),
    ...(stored?.path !== undefined && { path: stored.path }),
    ...(failure && { failure }),
  };
}

/** What the blocks show, when all their text is already bounded within these limits; undefined when there is work to do. */
function sizeIfBounded(
  blocks: readonly ToolContentBlock[],
  { limits, treatment }: BoundedCheck,
): TextSize | undefined {
  const results = new Set<TextSize>();
  for (const block of blocks) {
    if (isBytesBlock(block)) return undefined;
    if (!isTextBlock(block)) continue;
    const mark = markOf(block, treatment);
    if (mark === undefined) return undefined;
    results.add(mark.shown);
  }
  if (results.size === 0) return undefined;
  const shown = [...results].reduce(addSizes, NO_SIZE);
  return isWithinLimits(shown, limits) ? shown : undefined;
}

interface BoundedCheck {
  readonly limits: ToolOutputLimits;
  readonly treatment: Treatment;
}
