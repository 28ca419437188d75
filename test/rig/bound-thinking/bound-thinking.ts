import { createHash } from "node:crypto";
import {
  asArray,
  asObject,
  asString,
  isObject,
  type UnknownObject,
} from "../../../src/text/unknown-value.ts";

/**
 * The prefix check of Claude models with preserved thinking, as the vendor documents it. What stands before a thought is
 * system, tools and messages, by value. Thoughts are no part of it, but those that are kept must be an unbroken run. Cache
 * marks and other parameters do not count. A signed summary may stand for what it sums up if the kept turns follow at once.
 */
export interface ThinkingCheck {
  /** Checks a request before its model reads it. */
  read(body: UnknownObject, how?: HowRead): ThinkingRead;
  /** The content of an answer to a request that was taken, with its thoughts and summaries signed; blocks are not changed. */
  sign<Block extends UnknownObject>(seen: TakenRequest, content: readonly Block[]): Block[];
  /** The signed block of a compaction on demand over everything that was read. */
  compact(seen: TakenRequest, summary: string): UnknownObject;
  /** What a thought at the beginning of each message would be bound to, and at last one of the answer. */
  prefixes(body: UnknownObject): readonly string[];
}

export interface ThinkingCheckOptions {
  /** A new account is checked always, an old one only where the request sets what happens to a thought that does not fit. */
  readonly account?: Account;
  /** What was signed so far; given where several servers are one vendor's. */
  readonly signatures?: Signatures;
  /** Whether a model can read the thoughts of another; unset: only its own. */
  readonly canRead?: (reader: string, writer: string) => boolean;
  /** What an address gives now; unset: the same for ever. */
  readonly bytesOf?: (url: string) => string;
}

export type Account = "new" | "old";

/** What is known of a request beside its body. */
export interface HowRead {
  /** The header `anthropic-beta`. */
  readonly beta?: string | undefined;
  /** Unset: messages. A batch drops what does not fit where it does not say otherwise. */
  readonly endpoint?: "messages" | "count_tokens" | "batches";
  /** Whose account asks; thoughts are read by their own only. */
  readonly organization?: string;
  /** Unset: the model that the body names. */
  readonly model?: string;
  /** Whether that model checks what its thoughts are bound to; unset: it does. */
  readonly isPreserved?: boolean;
}

export type ThinkingRead = TakenRequest | RefusedRequest;

export interface RefusedRequest {
  readonly status: 400;
  readonly error: {
    readonly type: "error";
    readonly error: { readonly type: "invalid_request_error"; readonly message: string };
  };
}

/** A request that the model reads, and the state in which its answer goes on. */
export interface TakenRequest {
  readonly status: 200;
  /** What the model reads: without the thoughts that were dropped. */
  readonly body: UnknownObject;
  readonly model: string;
  readonly organization: string;
  readonly isPreserved: boolean;
  /** What the answer reports; only with the header. */
  readonly inputTransformations: readonly InputTransformation[] | undefined;
  /** Thoughts that the model does not read, header or not. */
  readonly dropped: readonly InputTransformation[];
  /** The thoughts that are read, oldest first. */
  readonly run: readonly string[];
  readonly lines: readonly Line[];
  readonly head: Head;
  readonly lastRole: unknown;
}

export interface InputTransformation {
  readonly type: "thinking_dropped" | "thinking_mismatch_allowed";
  readonly path: string;
  readonly reason: "prefix_binding_mismatch" | "model_binding_mismatch" | "organization_binding_mismatch";
}

/** Without this header a request may not say what happens to a thought that does not fit. */
export const BINDING_BETA = "thinking-binding-controls-2026-08-01";

/** True for the models that check what their thoughts are bound to. */
export function bindsThinking(model: string): boolean {
  return /claude-(?:fable-5[-.][12]|(?:opus|sonnet|haiku)-5[-.]5)(?!\d)/.test(model);
}

/** True for a block that only its own model can read. */
export function isThought({ type }: UnknownObject): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

/** A redacted thought has no signature of its own: its data are sealed. */
function signatureFieldOf({ type }: UnknownObject): "data" | "signature" {
  return type === "redacted_thinking" ? "data" : "signature";
}

/** What a thought says; one that comes back reworded is damaged. */
function textOf({ thinking }: UnknownObject): string {
  return asString(thinking) ?? "";
}

/** One way to read the conversation so far: as it is sent, or as it was before a summary took the place of a part of it. */
interface Line {
  readonly at: string;
  readonly isExact: boolean;
}

interface Head {
  readonly system: string;
  readonly tools: string;
}

/** What each signature says. */
export type Signatures = Map<unknown, Fact>;

/** What a signature says. */
type Fact = ThoughtFact | CompactionFact;

interface ThoughtFact {
  readonly kind: "thinking";
  readonly text: string;
  readonly at: string;
  readonly run: readonly string[];
  readonly head: Head;
  readonly model: string;
  readonly organization: string;
}

interface CompactionFact {
  readonly kind: "compaction";
  readonly isPreserved: boolean;
  readonly head: string;
  readonly lines: readonly string[];
  readonly lastRole?: unknown;
}

interface Place {
  readonly index: number;
  readonly part: number;
  readonly lines: readonly Line[];
  readonly head: Head;
}

/** A check that has signed nothing yet. */
export function createThinkingCheck(options: ThinkingCheckOptions = {}): ThinkingCheck {
  const {
    account = "new",
    signatures: sealed = new Map() as Signatures,
    canRead = (reader, writer) => reader === writer,
    bytesOf = (url) => url,
  } = options;
  const digest = (value: unknown): string =>
    createHash("sha256").update(canonical(value, bytesOf)).digest("base64url").slice(0, 22);

  /** The signature of a fact, as long as any other; the same fact has the same one. */
  function seal(fact: Fact): string {
    const signature = createHash("sha512").update(JSON.stringify(fact)).digest("base64");
    if (!sealed.has(signature)) sealed.set(signature, fact);
    return signature;
  }

  function headOf({ system, tools }: UnknownObject, messages: readonly UnknownObject[]): Head {
    const added = new Set(
      messages
        .flatMap(({ content }) => blocksOf(content))
        .filter(({ type }) => type === "tool_addition")
        .map(({ tool }) => asObject(tool).name),
    );
    const shown = asArray(tools)
      .map(asObject)
      .filter((tool) => !tool.defer_loading || added.has(tool.name));
    return { system: digest(blocksOf(system)), tools: digest(shown) };
  }

  const startOf = ({ system, tools }: Head): string => digest([system, tools]);

  /** Walks a request: what each thought should be bound to, and the state behind the last message. */
  function walk(
    body: UnknownObject,
    visit: (block: UnknownObject, place: Place) => void,
    enter: (lines: readonly Line[]) => void = () => {},
  ): Pick<TakenRequest, "lines" | "head" | "lastRole"> {
    const messages = asArray(body.messages).map(asObject);
    const head = headOf(body, messages);
    let lines: readonly Line[] = [{ at: startOf(head), isExact: true }];
    let lastRole: unknown;
    const isCompacted = ({ content }: UnknownObject): boolean =>
      blocksOf(content).some(({ type }) => type === "compaction");
    const from = Math.max(0, messages.findLastIndex(isCompacted));
    for (const [index, message] of messages.entries()) {
      enter(lines);
      if (index < from) continue;
      const { role, clear_at: clearAt = null, output_config: config = null } = message;
      const content = blocksOf(message.content);
      for (const [part, block] of content.entries()) {
        if (block.type === "compaction")
          lines = linesAfter(block, { head, next: messages[index + 1], isLast: part === content.length - 1 });
        else if (isThought(block)) visit(block, { index, part, lines, head });
      }
      const rest = content.filter((block) => !isThought(block) && block.type !== "compaction");
      // A summary that stands alone is no turn: the kept turns follow at once.
      if (rest.length > 0 || !isCompacted(message))
        lines = lines.map(({ at, isExact }) => ({ isExact, at: digest([at, role, clearAt, config, rest]) }));
      lastRole = role;
    }
    return { lines, head, lastRole };
  }

  interface Compacted {
    readonly head: Head;
    /** The message behind the summary. */
    readonly next: UnknownObject | undefined;
    /** Whether nothing follows in the summary's own message. */
    readonly isLast: boolean;
  }

  /** Behind a summary: the summary itself, and what it stands for where the kept turns follow at once. */
  function linesAfter(block: UnknownObject, { head, next, isLast }: Compacted): readonly Line[] {
    const fact = sealed.get(block.signature);
    const itself = { at: digest([startOf(head), "compaction", block.content ?? null]), isExact: true };
    if (fact?.kind !== "compaction" || !fact.isPreserved || fact.head !== startOf(head)) return [itself];
    const follows = next === undefined || (next.role !== "system" && next.role !== fact.lastRole);
    if (!isLast || !follows) return [itself];
    return [itself, ...fact.lines.map((at) => ({ at, isExact: false }))];
  }

  function read(body: UnknownObject, how: HowRead = {}): ThinkingRead {
    const { beta = "", endpoint = "messages", organization = "", isPreserved = true } = how;
    const { model = String(body.model) } = how;
    const hasBeta = beta.split(",").some((name) => name.trim() === BINDING_BETA);
    const { block_binding: binding, type = "adaptive" } = asObject(body.thinking);
    if (binding !== undefined && !hasBeta)
      return refused("thinking.adaptive.block_binding: Extra inputs are not permitted");
    if (binding !== undefined && type !== "adaptive" && type !== "enabled")
      return refused(`thinking.${String(type)}.block_binding: Extra inputs are not permitted`);
    const asked = asObject(binding).prefix_mismatch_behavior;
    if (asked !== undefined && asked !== "error" && asked !== "drop_block")
      return refused(
        "thinking.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'",
      );
    const isEnforced = isPreserved && (account === "new" || asked !== undefined);
    const behavior = asked ?? (endpoint === "batches" ? "drop_block" : "error");
    const transformations: InputTransformation[] = [];
    const dropped = new Set<unknown>();
    const run: string[] = [];
    let failure: string | undefined;
    let spoiledTurn: number | undefined;

    const end = walk(body, (block, { index, part, lines, head }) => {
      const path = `messages.${index}.content.${part}`;
      const signature = block[signatureFieldOf(block)];
      const fact = sealed.get(signature);
      const drop = (reason: InputTransformation["reason"]): void => {
        dropped.add(block);
        transformations.push({ type: "thinking_dropped", path, reason });
      };
      if (fact?.kind !== "thinking" || fact.text !== textOf(block)) {
        failure ??= `${path}: ${INVALID}`;
        return;
      }
      if (fact.organization !== organization) return drop("organization_binding_mismatch");
      if (!canRead(model, fact.model)) return drop("model_binding_mismatch");
      const isBound =
        !isPreserved ||
        (lines.some(({ at }) => at === fact.at) && isEndOf(run, fact.run) && spoiledTurn !== index);
      if (isBound || !isEnforced) {
        if (!isBound)
          transformations.push({
            type: "thinking_mismatch_allowed",
            path,
            reason: "prefix_binding_mismatch",
          });
        run.push(String(signature));
        return;
      }
      spoiledTurn = index;
      if (behavior === "drop_block") return drop("prefix_binding_mismatch");
      failure ??= `${path}: ${INVALID}. ${ELSEWHERE}${hasBeta ? "" : ` ${NEEDS_BETA}`} ${differenceOf(fact.head, head)}`;
    });
    if (failure !== undefined) return refused(failure);
    return {
      status: 200,
      body: dropped.size === 0 ? body : { ...body, messages: withoutBlocks(body.messages, dropped) },
      model,
      organization,
      isPreserved,
      inputTransformations: hasBeta ? transformations : undefined,
      dropped: transformations.filter(({ type: kind }) => kind === "thinking_dropped"),
      run,
      ...end,
    };
  }

  return {
    read,
    sign(seen, content) {
      const { head, model, organization, isPreserved } = seen;
      let run = [...seen.run];
      let at = seen.lines.find(({ isExact }) => isExact)?.at ?? startOf(head);
      return content.map((block) => {
        if (block.type === "compaction") {
          // Of a threshold: what follows in this answer is bound to it alone.
          at = digest([startOf(head), "compaction", block.content ?? null]);
          run = [];
          const fact: Fact = { kind: "compaction", isPreserved, head: startOf(head), lines: [] };
          return { ...block, signature: seal(fact) };
        }
        if (!isThought(block)) return block;
        const text = textOf(block);
        const signature = seal({ kind: "thinking", text, at, run: [...run], head, model, organization });
        run.push(signature);
        return { ...block, [signatureFieldOf(block)]: signature };
      });
    },
    prefixes(body) {
      const found: string[] = [];
      const exact = (lines: readonly Line[]) => found.push(lines.find(({ isExact }) => isExact)?.at ?? "");
      exact(walk(body, () => {}, exact).lines);
      return found;
    },
    compact({ isPreserved, head, lines, lastRole }, summary) {
      const fact: Fact = {
        kind: "compaction",
        isPreserved,
        head: startOf(head),
        lines: lines.map(({ at }) => at),
        lastRole,
      };
      return { type: "compaction", content: summary, signature: seal(fact) };
    },
  };
}

const INVALID = "Invalid `signature` in `thinking` block";
const ELSEWHERE =
  'The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';
const NEEDS_BETA = `That setting requires the \`${BINDING_BETA}\` value in the \`anthropic-beta\` header.`;

function differenceOf(then: Head, now: Head): string {
  if (then.system !== now.system) return "The `system` prompt differs from when the block was created.";
  if (then.tools !== now.tools) return "The `tools` list differs from when the block was created.";
  return "A message before the block differs, or a thinking block between others was left out or moved.";
}

function refused(message: string): RefusedRequest {
  return { status: 400, error: { type: "error", error: { type: "invalid_request_error", message } } };
}

function withoutBlocks(messages: unknown, dropped: ReadonlySet<unknown>): readonly unknown[] {
  return asArray(messages).map((message) => {
    const { content } = asObject(message);
    return Array.isArray(content)
      ? { ...asObject(message), content: content.filter((block) => !dropped.has(block)) }
      : message;
  });
}

/** The oldest thoughts may be gone; with a gap, in another order or with one put back they are none of the original runs. */
function isEndOf(present: readonly string[], recorded: readonly string[]): boolean {
  const from = recorded.length - present.length;
  return from >= 0 && present.every((id, index) => id === recorded[from + index]);
}

/** A text alone is one block. */
function blocksOf(content: unknown): readonly UnknownObject[] {
  const text = asString(content);
  return text === undefined ? asArray(content).map(asObject) : [{ type: "text", text }];
}

/** By value: neither the order of keys nor cache marks count, and a lone text is the same as a string or as a block. */
function canonical(value: unknown, bytesOf: (url: string) => string): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, bytesOf)).join()}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  if (value.type === "url" && typeof value.url === "string")
    return canonical({ type: "url", bytes: bytesOf(value.url) }, bytesOf);
  const names = Object.keys(value).filter((name) => name !== "cache_control" && value[name] !== undefined);
  const fields = names.toSorted().map((name) => {
    const item = name === "content" && value.type === "tool_result" ? blocksOf(value.content) : value[name];
    return `${JSON.stringify(name)}:${canonical(item, bytesOf)}`;
  });
  return `{${fields.join()}}`;
}
