import { type RedactOptions, redactSecrets } from "../text/secrets/redact-secrets.ts";
import type { Cut } from "../text/truncate.ts";
import { binaryType } from "./binary-content.ts";
import { composeBlocks } from "./compose-blocks.ts";
import { keepHeadAndTail, shownSize } from "./keep-head-and-tail.ts";
import {
  completeToolOutputLimits,
  isWithinLimits,
  type RawToolOutputLimits,
  resolveToolOutputLimits,
  type ToolOutputLimits,
} from "./limits.ts";
import {
  binaryNotice,
  cutNotice,
  notSavedNotice,
  outputStats,
  type ToolOutputStats,
  type TruncatedBy,
} from "./notices.ts";
import { type OutputFailure, type OutputRef, type OutputStore, saveOutput } from "./output-store.ts";
import {
  type BinaryPiece,
  isBytesBlock,
  isTextBlock,
  joinTexts,
  rawContent,
  readToolText,
  type TextBlock,
  type ToolContentBlock,
  type ToolText,
} from "./read-blocks.ts";
import { type TextSize, textSize } from "./text-size.ts";

/**
 * Trims one tool output before it enters the context:
 * - `read-blocks.ts` joins the blocks into one clean text, `text-size.ts` measures it, `limits.ts` has the limits.
 * - `output-store.ts` saves the raw output.
 * - `keep-head-and-tail.ts` decides which lines stay.
 * - `notices.ts` says what was left out, and `compose-blocks.ts` puts the blocks together again.
 *
 * Throws only for unusable limits: a store that fails is reported in the result.
 *
 * An output is trimmed once: keep the `cut` of the result in the tool part. A session leaves a part with a `cut` alone,
 * and so does this function when it is given one.
 */
export async function truncateToolContent<Block extends ToolContentBlock>(
  blocks: readonly Block[],
  limits?: RawToolOutputLimits,
  store?: OutputStore,
  options: ToolOutputOptions = {},
): Promise<ToolOutputResult<Block | TextBlock>> {
  return trimBlocks(blocks, { limits: resolveToolOutputLimits(limits), store, options });
}

function trimBlocks<Block extends ToolContentBlock>(
  blocks: readonly Block[],
  request: SaveRequest,
): Promise<ToolOutputResult<Block | TextBlock>> {
  const { redact, ...cleaning } = request.options;
  const clean = redact && ((text: string) => redactSecrets(text, redact));
  return trimContent(readToolText(blocks, { ...cleaning, redact: clean }), request);
}

async function trimContent<Block extends ToolContentBlock>(
  content: ToolText<Block>,
  { limits, store, options }: SaveRequest,
): Promise<ToolOutputResult<Block | TextBlock>> {
  const { blocks, size } = content;
  const whole = { truncated: false, by: "none", stats: outputStats(size, size) } as const;
  if (options.cut !== undefined) return { blocks, ...whole };
  const saves = await saveContent(content, { limits, store, options });
  if (isWithinLimits(size, limits) && saves.text === undefined && saves.binaries.size === 0)
    return { blocks: withCleanedTexts(content), ...whole };
  return trim(content, { limits, saves, recallTool: options.recallTool });
}

/** Trims one tool output, a text or a list of blocks, with the default limits where none are given. */
export async function trimToolOutput(
  output: string | readonly ToolContentBlock[],
  options: TrimToolOutputOptions = {},
): Promise<TrimmedToolOutput> {
  const { limits, store, ...rest } = options;
  const blocks = typeof output === "string" ? [{ type: "text", text: output } as const] : output;
  const request = { limits: completeToolOutputLimits(limits), store, options: rest };
  return withText(await trimBlocks(blocks, request));
}

/**
 * For a host that must find limits that leave room for the notice: reads the text once and bounds it with several
 * limits.
 */
export function createTextTrimmer(
  output: string,
  { store, ...options }: Pick<TrimToolOutputOptions, "store" | "recallTool" | "binary">,
): (limits: ToolOutputLimits) => Promise<TrimmedToolOutput> {
  const content = readToolText<ToolContentBlock>([{ type: "text", text: output }], options);
  return async (limits) => withText(await trimContent(content, { limits, store, options }));
}

function withText(result: ToolOutputResult<ToolContentBlock>): TrimmedToolOutput {
  return { ...result, text: joinTexts(result.blocks.filter(isTextBlock).map(({ text }) => text)) };
}

/** How a tool output is cleaned and kept. */
export interface ToolOutputOptions {
  /** What was left out of the output before, from its tool part: with it the output is returned as it is. @default none */
  readonly cut?: Cut | undefined;
  /** Whether terminal escapes, overwritten lines and invisible characters are removed before counting. @default on */
  readonly normalize?: "on" | "off";
  /** What becomes of unreadable text (control and replacement characters): a notice, or text with replacement characters, as agents show it. @default notice */
  readonly binary?: "notice" | "text";
  /** When given, secrets are replaced before anything is cut; the store keeps the raw output. @default off */
  readonly redact?: RedactOptions;
  /** Whether an output below the threshold is stored too when something of it is left out. @default on */
  readonly saveTruncated?: "on" | "off";
  /** The tool with which the model can read what the store keeps; named in notices. @default none */
  readonly recallTool?: string;
  /** Ends the waiting for a store that does not answer. @default none */
  readonly signal?: AbortSignal;
}

/** Options of `trimToolOutput`. */
export interface TrimToolOutputOptions extends ToolOutputOptions {
  /** What is not given has its default; 0 turns a limit off. */
  readonly limits?: Partial<ToolOutputLimits>;
  /** Keeps the whole of an output that is cut, for recall; without one the omitted part is lost. @default none */
  readonly store?: OutputStore;
}

/** What `trimToolOutput` gives. */
export interface TrimmedToolOutput extends ToolOutputResult<ToolContentBlock> {
  /** The text of the blocks, for hosts whose tools return a string. */
  readonly text: string;
}

/** A tool output as it may enter the context. */
export interface ToolOutputResult<Block> {
  /** The list that was given when nothing needed doing. */
  readonly blocks: readonly Block[];
  /** Whether anything was left out. */
  readonly truncated: boolean;
  readonly by: TruncatedBy;
  readonly stats: ToolOutputStats;
  /** What was left out, as a tool part records it (a byte of binary content counts as a character); unset when nothing was. */
  readonly cut?: Cut;
  /** The store's handle of the raw output; of its text when binary content was stored as well. */
  readonly handle?: string;
  readonly path?: string;
  readonly sha256?: string;
  /** Why the store does not have the output. */
  readonly failure?: OutputFailure;
}

function withCleanedTexts<Block extends ToolContentBlock>({
  blocks,
  pieces,
}: ToolText<Block>): readonly (Block | TextBlock)[] {
  if (pieces.every((piece) => piece.type !== "text" || piece.text === piece.raw)) return blocks;
  return pieces.map(({ block, ...piece }) => {
    if (piece.type !== "text" || piece.text === piece.raw) return block;
    return { ...(isTextBlock(block) ? block : { type: "text" }), text: piece.text };
  });
}

/** Answers of the store; undefined where it was not asked. */
interface Saves<Block> {
  readonly isLarge: boolean;
  readonly text: SaveOutcome;
  readonly binaries: ReadonlyMap<BinaryPiece<Block>, SaveOutcome>;
}

type SaveOutcome = OutputRef | OutputFailure | undefined;

interface SaveRequest {
  readonly limits: ToolOutputLimits;
  readonly store: OutputStore | undefined;
  readonly options: ToolOutputOptions;
}

async function saveContent<Block>(
  { pieces, size }: ToolText<Block>,
  { limits, store, options: { saveTruncated = "on", signal } }: SaveRequest,
): Promise<Saves<Block>> {
  const put = async (raws: readonly (string | Uint8Array)[]): Promise<SaveOutcome> =>
    store === undefined ? undefined : saveOutput(rawContent(raws), { store, signal });

  const isLarge = limits.largeOutputThreshold > 0 && size.chars > limits.largeOutputThreshold;
  const isStored = isLarge || (saveTruncated === "on" && !isWithinLimits(size, limits));
  const raws = pieces.flatMap((piece) => (piece.type === "text" ? [piece.raw] : []));
  const text = isStored ? await put(raws) : undefined;

  const binaries = new Map<BinaryPiece<Block>, SaveOutcome>();
  for (const piece of pieces) {
    if (piece.type !== "binary") continue;
    binaries.set(piece, saveTruncated === "on" ? await put([piece.raw]) : undefined);
  }
  return { isLarge, text, binaries };
}

interface TrimRequest<Block> {
  readonly limits: ToolOutputLimits;
  readonly saves: Saves<Block>;
  readonly recallTool: string | undefined;
}

function trim<Block extends ToolContentBlock>(
  { pieces, size, removed }: ToolText<Block>,
  { limits, saves, recallTool }: TrimRequest<Block>,
): ToolOutputResult<Block | TextBlock> {
  const saved = saves.text?.status === "stored" ? saves.text : undefined;
  const failure = saves.text?.status === "failed" ? saves.text : undefined;
  const isPreview = saves.isLarge && saved !== undefined;

  const text = joinTexts(pieces.flatMap((piece) => (piece.type === "text" ? [piece.text] : [])));
  const cut = keepHeadAndTail(text, { size, limits: isPreview ? previewLimits(limits) : limits });
  const shown: TextSize = cut.by === "none" ? size : shownSize(text, cut);
  const binaryBytes = [...saves.binaries.keys()].reduce((bytes, { raw }) => bytes + bytesOf(raw), 0);
  const textStats = outputStats(shown, size);
  const by = isPreview || (cut.by === "none" && saves.binaries.size > 0) ? "saved" : cut.by;
  const keptChars = text.length - (cut.tailStart - cut.headEnd);
  const omittedChars = text.length - keptChars + binaryBytes;

  const blocks = composeBlocks({
    pieces,
    text,
    cut,
    stats: textStats,
    before: failure === undefined ? "" : notSavedNotice(failure),
    after: cut.by === "none" ? "" : cutNotice({ by, stats: textStats, removed, saved, recallTool }),
    noticeOf: (piece) =>
      binaryNotice({
        type: binaryType(piece.raw, isBytesBlock(piece.block) ? piece.block.mimeType : undefined),
        bytes: bytesOf(piece.raw),
        saved: saves.binaries.get(piece),
      }),
  });
  return {
    blocks,
    truncated: by !== "none",
    by,
    stats: outputStats(shown, { ...size, bytes: size.bytes + binaryBytes }),
    ...(by !== "none" && {
      cut: {
        method: cut.tailStart === text.length && binaryBytes === 0 ? "head" : "head-tail",
        originalChars: keptChars + omittedChars,
        omittedChars,
        limitChars: keptChars,
      },
    }),
    ...savedReference(saves),
  };
}

/** A preview is never longer than the threshold, even when the other limits are off. */
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

function savedReference<Block>({ text, binaries }: Saves<Block>): Partial<ToolOutputResult<Block>> {
  const outcomes = [text, ...binaries.values()];
  const stored = outcomes.find((outcome) => outcome?.status === "stored");
  const failure = outcomes.find((outcome) => outcome?.status === "failed");
  return {
    ...(stored && { handle: stored.handle, sha256: stored.sha256 }),
    ...(stored?.path !== undefined && { path: stored.path }),
    ...(failure && { failure }),
  };
}
