import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { FORK_CHAR_BUDGET, type ForkProfile, type ForkWay } from "../../../fork/context/options.ts";
import type { CacheCost, CompactionPreview, ForkPreviews } from "../../view/types.ts";
import { type AskedSession, useAnswer } from "../engine/engine.ts";
import { Busy, ColumnHeads, count, LongText, percent, plural } from "../words/words.tsx";

/** What a child would inherit now, by each way, in full. */
export function ChildPanel({ asked, upTo }: PreviewProps): VNode {
  const [way, setWay] = useState<ForkWay>();
  const [profile, setProfile] = useState<ForkProfile>("default");
  const [budgetChars, setBudgetChars] = useState(FORK_CHAR_BUDGET);
  const { answer: previews, state } = useAnswer<"child">(asked, {
    type: "child",
    profile,
    budgetChars,
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
        <label>
          <span class="label">Budget</span>
          <input
            id="child-budget"
            type="range"
            min={5_000}
            max={400_000}
            step={5_000}
            value={budgetChars}
            aria-valuetext={`${count(budgetChars)} chars`}
            onInput={({ currentTarget }) => setBudgetChars(currentTarget.valueAsNumber)}
          />
          <span class="unit">{count(budgetChars)} chars</span>
        </label>
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
      <ColumnHeads names={["way", "messages", "chars", "tokens"]} />
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
  if (!pricesKnown) return "The model's name says nothing about its prices: every token counts the same.";
  return `A token that is read from the cache costs ${readMultiplier} of an ordinary one, one that is written ${writeMultiplier}.`;
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
