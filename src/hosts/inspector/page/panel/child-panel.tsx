import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ForkWay } from "../../../../fork/choose-fork-way.ts";
import { FORK_CHAR_BUDGET, type ForkProfile } from "../../../../fork/fork-options.ts";
import type { ForkPreview } from "../../view/types.ts";
import { type AskedSession, useAnswer } from "../engine/use-answer.ts";
import { Busy } from "../words/busy.tsx";
import { count } from "../words/numbers.ts";
import { CacheTable, priceText } from "./cache-table.tsx";
import { LongText } from "./long-text.tsx";

/** What a child would receive right now, by each way, word for word. */
export function ChildPanel({ asked, upTo }: ChildPanelProps): VNode {
  const [way, setWay] = useState<ForkWay>();
  const [profile, setProfile] = useState<ForkProfile>("fill");
  const [budgetChars, setBudgetChars] = useState(FORK_CHAR_BUDGET);
  const { answer: previews, state } = useAnswer<"child">(asked, {
    type: "child",
    profile,
    budgetChars,
    upTo,
  });
  const chosen = previews?.[0]?.chosen;
  const shown = previews?.find((preview) => preview.way === (way ?? chosen?.way));
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
            onChange={({ currentTarget }) => setProfile(currentTarget.value === "fixed" ? "fixed" : "fill")}
          >
            <option value="fill">fill: what is most likely needed next</option>
            <option value="fixed">fixed: by age, to the documented limits</option>
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
            columns={previews.map((preview) => ({ name: preview.way, cache: preview.cache }))}
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

interface ChildPanelProps {
  readonly asked: AskedSession;
  readonly upTo: number;
}

const WAYS: readonly { readonly way: ForkWay; readonly about: string }[] = [
  { way: "exact", about: "the same messages, through the provider's cache" },
  { way: "graduated", about: "real messages, old results shortened" },
  { way: "text", about: "one text in front of its task" },
];

interface WaysTableProps {
  readonly previews: readonly ForkPreview[] | undefined;
  readonly way: ForkWay | undefined;
  readonly onWay: (way: ForkWay) => void;
}

function WaysTable({ previews, way, onWay }: WaysTableProps): VNode {
  return (
    <table class="ways">
      <thead>
        <tr>
          <th scope="col">way</th>
          <th scope="col">messages</th>
          <th scope="col">chars</th>
          <th scope="col">tokens</th>
        </tr>
      </thead>
      <tbody>
        {WAYS.map(({ way: each, about }) => {
          const preview = previews?.find((one) => one.way === each);
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
