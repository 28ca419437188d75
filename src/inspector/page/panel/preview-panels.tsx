import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ForkProfile, ForkWay } from "../../../fork/context/options.ts";
import { priceOf } from "../../../models/model-price.ts";
import { formatUSD } from "../../../text/format-number.ts";
import type {
  CacheCost,
  CompactionPreview,
  ForkPreviews,
  KeptByPolicy,
  PolicyId,
  PolicyResult,
} from "../../view/types.ts";
import { NEXT_STEPS } from "../../view/window-over-time.ts";
import { type AskedSession, useAnswer } from "../engine/engine.ts";
import {
  BudgetControl,
  type BudgetControlProps,
  Busy,
  ColumnHeads,
  count,
  percent,
  plural,
  signed,
} from "../words/words.tsx";
import { LongText } from "./item-panel.tsx";

/** What a child would inherit now, by each way, in full. */
export function ChildPanel({ asked, upTo, ...budget }: ChildPanelProps): VNode {
  const { budgetTokens } = budget;
  const [way, setWay] = useState<ForkWay>();
  const [profile, setProfile] = useState<ForkProfile>("default");
  const { answer: previews, state } = useAnswer<"child">(asked, {
    type: "child",
    profile,
    budgetTokens,
    upTo,
  });
  const chosen = previews?.exact.chosen;
  const shown = chosen && previews[way ?? chosen.way];
  return (
    <>
      <h2>
        What a child would get <Busy state={state} />
      </h2>
      {chosen && (
        <p>
          The engine would choose <b>{chosen.way}</b>: {chosen.reason}.
        </p>
      )}
      <div class="row">
        <label>
          <span class="label">Profile</span>
          <select
            id="child-profile"
            value={profile}
            onChange={({ currentTarget }) =>
              setProfile(currentTarget.value === "documented" ? "documented" : "default")
            }
          >
            <option value="default">default: what is most likely needed next</option>
            <option value="documented">documented: by age, to fixed limits</option>
          </select>
        </label>
        <BudgetControl id="child" {...budget} />
      </div>
      <WaysTable previews={previews} way={shown?.way} onWay={setWay} />
      {shown && previews && (
        <>
          <CacheTable
            caption={priceText(shown.cache)}
            columns={WAYS.map(({ way: each }) => ({ name: each, cache: previews[each].cache }))}
          />
          <h3>
            Exactly what it reads <span class="amount">{count(shown.chars)} chars</span>
          </h3>
          <LongText text={shown.text} label={`What a child would read, ${shown.way}`} />
        </>
      )}
    </>
  );
}

interface ChildPanelProps extends PreviewProps, Omit<BudgetControlProps, "id"> {}

interface PreviewProps {
  readonly asked: AskedSession;
  readonly upTo: number;
}

const WAYS: readonly { readonly way: ForkWay; readonly about: string }[] = [
  { way: "exact", about: "the same messages, through the provider's cache" },
  { way: "graduated", about: "real messages, old results shortened" },
  { way: "text", about: "one text in front of its task" },
];

interface WaysTableProps {
  readonly previews: ForkPreviews | undefined;
  readonly way: ForkWay | undefined;
  readonly onWay: (way: ForkWay) => void;
}

function WaysTable({ previews, way, onWay }: WaysTableProps): VNode {
  return (
    <table class="ways">
      <ColumnHeads names={["way", "messages", "chars", "window"]} />
      <tbody>
        {WAYS.map(({ way: each, about }) => {
          const preview = previews?.[each];
          return (
            <tr key={each} class={each === way ? "chosen" : ""}>
              <th scope="row">
                <label>
                  <input
                    type="radio"
                    name="way"
                    value={each}
                    checked={each === way}
                    onChange={() => onWay(each)}
                  />
                  <b>{each}</b> <span class="dim">{about}</span>
                </label>
              </th>
              <td>{preview && count(preview.messages)}</td>
              <td>{preview && count(preview.chars)}</td>
              <td class="strong">{preview && count(preview.tokens)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** What a compaction without a model would leave now, in full. */
export function CompactionPanel({ asked, upTo }: PreviewProps): VNode {
  const [keepTokens, setKeepTokens] = useState<number>();
  const { answer: preview, state } = useAnswer<"compaction">(asked, {
    type: "compaction",
    upTo,
    ...(keepTokens !== undefined && { keepTokens }),
  });
  const maxTokens = Math.max(2_000, Math.round(asked.session.windowTokens / 2));
  return (
    <>
      <h2>
        What a compaction would leave <Busy state={state} />
      </h2>
      <label class="row">
        <span class="label">Newest kept word for word</span>
        <input
          id="keep-tokens"
          type="range"
          min={0}
          max={maxTokens}
          step={500}
          value={keepTokens ?? DEFAULT_KEEP_TOKENS}
          aria-valuetext={keepTokens === undefined ? "the engine's choice" : `${count(keepTokens)} tokens`}
          onInput={({ currentTarget }) => setKeepTokens(currentTarget.valueAsNumber)}
        />
        <span class="unit">
          {keepTokens === undefined ? "engine's choice" : `${count(keepTokens)} tokens`}
        </span>
      </label>
      {preview?.status === "nothing" && <p>Nothing: {preview.reason}</p>}
      {preview?.status === "planned" && <Planned preview={preview} />}
    </>
  );
}

/** Where the slider stands until it is moved; until then the engine's default applies. */
const DEFAULT_KEEP_TOKENS = 8_000;

type PlannedPreview = Extract<CompactionPreview, { status: "planned" }>;

function Planned({ preview }: { readonly preview: PlannedPreview }): VNode {
  const { summary, text, foldedMessages, keptMessages, firstKeptIndex, request, cache } = preview;
  const { tokensBefore, tokensAfter, charsBefore, charsAfter } = preview;
  return (
    <>
      <p>
        {plural(foldedMessages, "message")} become one summary, {plural(keptMessages, "message")} stay
        {firstKeptIndex !== undefined && `, from message ${count(firstKeptIndex + 1)} on`}:{" "}
        <b>
          {count(tokensBefore)} → {count(tokensAfter)} tokens
        </b>{" "}
        ({percent(tokensBefore - tokensAfter, tokensBefore)} less), {count(charsBefore)} → {count(charsAfter)}{" "}
        chars.
      </p>
      <CacheTable caption={priceText(cache)} columns={[{ name: "compaction", cache }]} />
      <h3>
        The summary, made without a model <span class="amount">{count(summary.length)} chars</span>
      </h3>
      <LongText text={summary} label="The summary" />
      <details>
        <summary>All that the model would read then ({count(text.length)} chars)</summary>
        <LongText text={text} label="All that the model would read" />
      </details>
      <details>
        <summary>What a model would be asked ({count(request.tokens)} tokens)</summary>
        <LongText text={`${request.system}\n\n${request.prompt}`} label="What a model would be asked" />
      </details>
    </>
  );
}

/** The cache costs of several choices, one column each. */
function CacheTable({ columns, caption }: CacheTableProps): VNode {
  return (
    <table class="cache">
      <caption>{caption}</caption>
      <ColumnHeads names={["", ...columns.map(({ name }) => name)]} />
      <tbody>
        {LINES.map(({ label, value }) => (
          <tr key={label}>
            <th scope="row">{label}</th>
            {columns.map(({ name, cache }) => (
              <td key={name}>{value(cache)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface CacheTableProps {
  readonly caption: string;
  readonly columns: readonly { readonly name: string; readonly cache: CacheCost }[];
}

/** The cache prices in a sentence. */
function priceText({ pricesKnown, readMultiplier, writeMultiplier }: CacheCost): string {
  const known = pricesKnown ? "" : "What this model's cache costs is not known. Assumed: ";
  return `${known}A token that is read from the cache costs ${readMultiplier} of an ordinary one, one that is written ${writeMultiplier}.`;
}

function breakEvenText({ breakEvenSteps: steps }: CacheCost): string {
  if (steps === undefined) return "never";
  return steps <= 1 ? "1, at once" : count(Math.ceil(steps));
}

const LINES: readonly { readonly label: string; readonly value: (cache: CacheCost) => string }[] = [
  { label: "read from the cache", value: ({ readTokens }) => count(readTokens) },
  { label: "written anew", value: ({ writtenTokens }) => count(writtenTokens) },
  { label: "first request costs", value: ({ firstBaseTokens }) => count(firstBaseTokens) },
  { label: "without the change it costs", value: ({ appendOnlyBaseTokens }) => count(appendOnlyBaseTokens) },
  {
    label: "price against no change",
    value: ({ relativeCost, expectedSteps }) =>
      `${Math.round(100 * relativeCost)} % over ${plural(expectedSteps, "request")}`,
  },
  { label: "cheaper from which request on", value: breakEvenText },
];

/** What every policy would leave now with the same budget, what it keeps and what it costs, and which is best here; choosing one applies it. */
export function PoliciesPanel({ asked, upTo, chosen, onPolicy, ...budget }: PoliciesPanelProps): VNode {
  const { budgetTokens } = budget;
  const { answer: results, state } = useAnswer<"policies">(asked, { type: "policies", upTo, budgetTokens });
  const { answer: kept, state: keptState } = useAnswer<"kept">(asked, { type: "kept", budgetTokens });
  const model =
    asked.session.model ?? asked.session.transcript.findLast((message) => message.model)?.model?.id;
  const inputUSD =
    model === undefined ? undefined : priceOf({ id: model }, { rows: asked.session.models })?.input;
  return (
    <>
      <h2>
        Which policy should I use? <Busy state={state === "done" ? keptState : state} />
      </h2>
      {results && kept && <p id="policy-verdict">{policyVerdict(results, { kept, budgetTokens })}</p>}
      <BudgetControl id="policies" {...budget} />
      <table class="policies">
        <ColumnHeads names={["policy", "window", "change", "keeps", "costs"]} />
        <tbody>
          {results?.map(({ id, label, about, tokens, changeTokens, cache }) => (
            <tr key={id} class={id === chosen ? "chosen" : ""}>
              <th scope="row">
                <button type="button" class="link" aria-pressed={id === chosen} onClick={() => onPolicy(id)}>
                  {label}
                </button>{" "}
                <span class="dim">{about}</span>
              </th>
              <td class="strong">
                {count(tokens)}
                {tokens > budgetTokens && <div class="over">over</div>}
              </td>
              <td>{signed(changeTokens)}</td>
              <td>{keptText(kept?.find(({ policy }) => policy === id))}</td>
              <td>{nextPrice(cache, inputUSD)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="dim">
        All with the same budget, at the moment that is shown. Keeps: of the names and lines that the next{" "}
        {NEXT_STEPS} steps used, at up to three places of this session, by the measure of{" "}
        <i>carryover eval</i>. Costs: the input of the next {results?.[0]?.cache.expectedSteps ?? 12} requests
        at the provider's cache prices, compared with changing nothing.
      </p>
    </>
  );
}

interface PoliciesPanelProps extends Omit<BudgetControlProps, "id"> {
  readonly asked: AskedSession;
  readonly upTo: number;
  readonly chosen: PolicyId;
  readonly onPolicy: (policy: PolicyId) => void;
}

function keptText(kept: KeptByPolicy | undefined): string {
  return kept === undefined ? "?" : percent(kept.keptCount, kept.neededCount);
}

function nextPrice(cache: CacheCost, inputUSD: number | undefined): string {
  const share = `${Math.round(100 * cache.relativeCost)} %`;
  if (inputUSD === undefined || !cache.pricesKnown) return share;
  const baseTokens = cache.relativeCost * cache.expectedSteps * cache.appendOnlyBaseTokens;
  return `${formatUSD((baseTokens * inputUSD) / 1_000_000)} (${share})`;
}

/** Which policy is best here, and why, in a sentence for the session and one for a child. */
export function policyVerdict(
  results: readonly PolicyResult[],
  { kept, budgetTokens }: { readonly kept: readonly KeptByPolicy[]; readonly budgetTokens: number },
): string {
  const shareOf = ({ id }: PolicyResult): number => {
    const found = kept.find(({ policy }) => policy === id);
    return found === undefined || found.neededCount === 0 ? 0 : found.keptCount / found.neededCount;
  };
  // What is kept counts; of those that keep about as much the cheapest.
  const rank = (one: PolicyResult, other: PolicyResult): number =>
    Math.round(20 * shareOf(other)) - Math.round(20 * shareOf(one)) ||
    one.cache.relativeCost - other.cache.relativeCost;
  const said = (best: PolicyResult, others: readonly PolicyResult[]): string => {
    const than = others.find(({ id }) => id === "last-n" || id === "fixed");
    const keeps =
      kept.length === 0
        ? "this session is too short to tell what is needed next, and it costs least"
        : `it keeps ${percentOf(shareOf(best))} of what was needed next${than === undefined || than.id === best.id ? "" : ` (${than.label} ${percentOf(shareOf(than))})`}`;
    return `${best.label}: ${keeps}, in ${count(best.tokens)} tokens at ${Math.round(100 * best.cache.relativeCost)} % of the cost`;
  };
  const fits = (result: PolicyResult): boolean => result.tokens <= budgetTokens;
  const [now] = results;
  if (now === undefined) return "";
  const own = results.filter(({ id }) => !FOR_CHILDREN.has(id));
  const children = results.filter(({ id }) => FOR_CHILDREN.has(id));
  const [bestOwn] = own.filter(fits).toSorted(rank);
  const [bestChild] = children.filter(fits).toSorted(rank);
  const forSession = fits(now)
    ? `Use none: the window of ${count(now.tokens)} tokens fits the budget, and a change would only have the cache written anew.`
    : bestOwn === undefined
      ? "None of them brings the window down to this budget."
      : `Use ${said(bestOwn, own)}.`;
  return bestChild === undefined ? forSession : `${forSession} For a child use ${said(bestChild, children)}.`;
}

/** What a child inherits; the others are for the session itself. */
const FOR_CHILDREN: ReadonlySet<PolicyId> = new Set(["fill", "fixed"]);

function percentOf(share: number): string {
  return percent(share, 1);
}
