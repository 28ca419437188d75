import {
  Component,
  type ComponentClass,
  type Context,
  createContext,
  type FunctionComponent,
  type VNode,
} from "preact";
import { useContext, useState } from "preact/hooks";
import { oneLine } from "../../../text/clip.ts";
import { safeJson } from "../../../text/json.ts";
import { describeFile } from "../../../transcript/content.ts";
import type { Transcript } from "../../../transcript/message.ts";
import type { Part } from "../../../transcript/part.ts";
import type {
  Fate,
  InspectedSession,
  ItemRow,
  MessageRow,
  PolicyBudget,
  WindowView,
} from "../../view/types.ts";
import { BUDGET_STEPS, budgetOfStep, parseBudget, stepOfBudget } from "../state/page-state.ts";

/** A whole number with thousands separators: `12,345`. */
export function count(value: number): string {
  return WHOLE.format(Math.round(value));
}

/** What estimates are multiplied with, so that everything on the page sums up to the size in its head. */
export const TokenScale: Context<number> = createContext(1);

/** Shows estimated tokens as the head of the page counts them. */
export function useTokens(): (estimated: number) => string {
  const scale = useContext(TokenScale);
  return (estimated) => count(estimated * scale);
}

/** A number in short: `48 k`, `1.2 M`. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size < 1_000) return count(value);
  const [unit, divisor] = size < 999_500 ? ["k", 1_000] : ["M", 1_000_000];
  const scaled = value / divisor;
  return `${Math.abs(scaled) < 9.95 ? scaled.toFixed(1) : Math.round(scaled)} ${unit}`;
}

/** A share in percent: `<1 %`, `96 %`. */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return "0 %";
  const value = (100 * part) / whole;
  return value < 1 ? "<1 %" : `${Math.round(value)} %`;
}

/** A number with its sign: `+12`, `−3,100`, `±0`. */
export function signed(value: number): string {
  if (Math.round(value) === 0) return "±0";
  return `${value > 0 ? "+" : "−"}${count(Math.abs(value))}`;
}

/** A number with its noun: `1 message`, `2 messages`. */
export function plural(value: number, word: string): string {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}

/** Date and time in the reader's own time zone. */
export function moment(atMs: number): string {
  return isDate(atMs) ? MOMENT.format(atMs) : "";
}

/** The time of day. */
export function clock(atMs: number): string {
  return isDate(atMs) ? CLOCK.format(atMs) : "";
}

function isDate(atMs: number): boolean {
  return Number.isFinite(atMs) && Math.abs(atMs) < 8.64e15;
}

const WHOLE: Intl.NumberFormat = new Intl.NumberFormat("en-US");
const MOMENT: Intl.DateTimeFormat = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const CLOCK: Intl.DateTimeFormat = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/** Every status in the order of the legend, with the letter that identifies it without colour. */
export const FATES: readonly FateWords[] = [
  { fate: "kept", letter: "K", about: "in the window as it is" },
  { fate: "clipped", letter: "C", about: "in the window in part" },
  { fate: "cleared", letter: "X", about: "only a placeholder is in the window" },
  { fate: "summarized", letter: "S", about: "a summary stands for it" },
  { fate: "superseded", letter: "N", about: "something newer shows the same" },
  { fate: "hidden", letter: "H", about: "not in the window; still recorded" },
];

interface FateWords {
  readonly fate: Fate;
  readonly letter: string;
  readonly about: string;
}

/** The letter of a status on its colour, so that colour is not the only sign. */
export function FateBadge({ fate }: { readonly fate: Fate }): VNode {
  return (
    <span class={`badge ${fate}`} title={fate} aria-hidden="true">
      {FATES.find((words) => words.fate === fate)?.letter}
    </span>
  );
}

/** What an item is, in a word, and the beginning of its text. */
interface ItemLabel {
  readonly what: string;
  readonly detail: string;
}

/** What labels are made from. */
export type LabelSource = Pick<InspectedSession, "workingDirectory"> & { readonly transcript: Transcript };

/** The label of an item; only the beginning of its text is read. */
export function itemLabel(
  source: LabelSource,
  { index }: Pick<MessageRow, "index">,
  item: ItemRow,
): ItemLabel {
  const part = source.transcript[index]?.parts[item.partIndex];
  const words = item.path ?? (part === undefined ? "" : excerptOf(part, item, source));
  return { what: whatOf(item), detail: oneLine(inProject(words, source).slice(0, EXCERPT_CHARS)) };
}

/** The name of an item in a sentence: a file, or what its call asked for. */
export function itemName(source: LabelSource, row: Pick<MessageRow, "index">, item: ItemRow): string {
  const { what, detail } = itemLabel(source, row, item.side === "output" ? { ...item, side: "input" } : item);
  const short = shortened(detail, NAME_CHARS);
  return short === "" ? (item.tool ?? what) : `${item.tool ?? what} ${short}`;
}

/** The beginning of a text, with an ellipsis when there is more. */
export function shortened(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars).trimEnd()}…` : text;
}

/** A role as the page calls it. */
export function roleWord(role: string): string {
  return role === "assistant" ? "agent" : role;
}

/** A path relative to the session's working directory. */
export function inProject(
  path: string,
  { workingDirectory }: Pick<InspectedSession, "workingDirectory">,
): string {
  return workingDirectory !== undefined && path.startsWith(`${workingDirectory}/`)
    ? path.slice(workingDirectory.length + 1)
    : path;
}

function whatOf({ kind, tool, failed, side }: ItemRow): string {
  if (tool === undefined) return kind;
  if (side === "input") return `${tool} call`;
  return failed ? `${tool} failed` : tool;
}

function excerptOf(part: Part, { side }: ItemRow, source: LabelSource): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.slice(0, EXCERPT_CHARS);
    case "tool":
      if (side === "input") return inputExcerpt(part.input, source);
      if (part.outcome.status === "pending") return "still running";
      return (part.outcome.status === "done" ? part.outcome.output : part.outcome.error).slice(
        0,
        EXCERPT_CHARS,
      );
    case "file":
      return part.filename ?? describeFile(part);
    case "compaction":
      return `${part.trigger} compaction`;
    case "opaque":
      return part.name;
  }
}

/** The values of a call's input without their names, which are the same for every call of a tool. */
function inputExcerpt(input: unknown, source: LabelSource): string {
  if (typeof input === "string") return input.slice(0, EXCERPT_CHARS);
  if (typeof input !== "object" || input === null) return safeJson(input).slice(0, EXCERPT_CHARS);
  const words: string[] = [];
  let chars = 0;
  for (const value of Object.values(input)) {
    if (chars > EXCERPT_CHARS) break;
    const word =
      typeof value === "string"
        ? inProject(value.slice(0, EXCERPT_CHARS), source)
        : typeof value === "number"
          ? `${value}`
          : "";
    if (word === "") continue;
    words.push(word);
    chars += word.length;
  }
  return words.join(" · ");
}

const EXCERPT_CHARS = 160;
const NAME_CHARS = 32;

/** A window in one line: what was recorded, what is in the window, and the largest item that is not. */
export function verdictOf(view: WindowView, session: InspectedSession): string {
  if (view.rows.length === 0) return "Nothing was said yet.";
  const sizes = `${short(view.charsBefore)} chars seen, ${short(view.charsAfter)} in the window`;
  const measure = view.charsBefore > view.charsAfter ? "savedChars" : "chars";
  const largest = largestOf(view, measure);
  if (largest === undefined) return sizes;
  const { row, item } = largest;
  const words = measure === "savedChars" ? "most of what is not" : "largest";
  return `${sizes}; ${words}: ${itemName(session, row, item)} (${short(item[measure])})`;
}

function largestOf({ rows }: WindowView, measure: "chars" | "savedChars"): Largest | undefined {
  let largest: Largest | undefined;
  for (const row of rows) {
    for (const item of row.items) {
      if (item[measure] > (largest?.item[measure] ?? 0)) largest = { row, item };
    }
  }
  return largest;
}

interface Largest {
  readonly row: MessageRow;
  readonly item: ItemRow;
}

/** A note while a newer answer is being computed; the stylesheet delays it, so that quick answers show none. */
export function Busy({ state }: { readonly state: "working" | "done" }): VNode {
  return (
    <span class="busy" data-state={state} aria-hidden="true">
      computing…
    </span>
  );
}

/** The heads of a table's columns; an empty name leaves the cell empty. */
export function ColumnHeads({ names }: { readonly names: readonly string[] }): VNode {
  return (
    <thead>
      <tr>
        {names.map((name) =>
          name === "" ? (
            <td key={name} />
          ) : (
            <th key={name} scope="col">
              {name}
            </th>
          ),
        )}
      </tr>
    </thead>
  );
}

/** For `ref`: lets the keyboard focus an element to scroll it, which not every browser does by itself. */
export function makeFocusable(element: HTMLElement | null): void {
  if (element !== null) element.tabIndex = 0;
}

/** The component, rendered again only when a property changed: most of the page stays as it is while a slider moves. */
export function memo<Properties extends object>(
  Inner: FunctionComponent<Properties>,
): ComponentClass<Properties> {
  return class extends Component<Properties> {
    override shouldComponentUpdate(next: Properties): boolean {
      const now: Readonly<Record<string, unknown>> = { ...this.props };
      const names = Object.keys(next);
      return (
        names.length !== Object.keys(now).length ||
        Object.entries(next).some(([name, value]) => now[name] !== value)
      );
    }

    override render(): VNode {
      return <Inner {...this.props} />;
    }
  };
}

/** The budget that policies and children share, as a slider and as an exact number. */
export function BudgetControl({ id, shared, budgetTokens, onBudget }: BudgetControlProps): VNode {
  const { label, unit } = shared;
  // An answer of the engine may arrive while the user types: the typed text stays until it is submitted.
  const [typed, setTyped] = useState<string>();
  return (
    <div class="control budget">
      <label class="label" for={`budget-${id}`}>
        Budget: {label}
      </label>
      <input
        id={`budget-${id}`}
        type="range"
        min={0}
        max={BUDGET_STEPS}
        step={1}
        value={stepOfBudget(budgetTokens, shared)}
        aria-valuetext={`${count(budgetTokens)} ${unit}`}
        onInput={({ currentTarget }) => onBudget(budgetOfStep(currentTarget.valueAsNumber, shared))}
      />
      <span class="exact">
        <input
          type="text"
          inputMode="decimal"
          id={`exact-${id}`}
          aria-label={`${label}, in ${unit}, exactly`}
          value={typed ?? budgetTokens}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          onChange={({ currentTarget }) => {
            const asked = parseBudget(currentTarget.value, shared);
            setTyped(undefined);
            if (asked !== undefined) onBudget(asked);
          }}
        />{" "}
        {unit}
      </span>
    </div>
  );
}

export interface BudgetControlProps {
  /** Tells it apart from the others on the page. */
  readonly id: string;
  /** Its limits. */
  readonly shared: PolicyBudget;
  readonly budgetTokens: number;
  readonly onBudget: (budgetTokens: number) => void;
}
