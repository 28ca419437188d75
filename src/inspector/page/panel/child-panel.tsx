import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { InheritMode } from "../../../fork/context/choose-inherit-mode.ts";
import type { ForkProfile } from "../../../fork/context/options.ts";
import type { ForkPreviews } from "../../view/types.ts";
import { BudgetControl, type BudgetControlProps } from "../elements/budget-control.tsx";
import { Busy } from "../elements/busy.tsx";
import { ColumnHeads } from "../elements/column-heads.tsx";
import { useAnswer } from "../engine/engine.ts";
import { count } from "../words/numbers.ts";
import { CacheTable, priceText } from "./cache-table.tsx";
import type { PreviewProps } from "./compaction-panel.tsx";
import { LongText } from "./long-text.tsx";

/** What a child would inherit now, by each way, in full. */
export function ChildPanel({ asked, upTo, ...budget }: ChildPanelProps): VNode {
  const { budgetTokens } = budget;
  const [inherit, setMode] = useState<InheritMode>();
  const [profile, setProfile] = useState<ForkProfile>("default");
  const { answer: previews, state } = useAnswer<"child">(asked, {
    type: "child",
    profile,
    budgetTokens,
    upTo,
  });
  const chosen = previews?.full.chosen;
  const shown = chosen && previews[inherit ?? chosen.mode];
  return (
    <>
      <h2>
        What a child would get <Busy state={state} />
      </h2>
      {chosen && (
        <p>
          The engine would choose <b>{chosen.mode}</b>: {chosen.reason}.
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
      <ModesTable previews={previews} inherit={shown?.mode} onMode={setMode} />
      {shown && previews && (
        <>
          <CacheTable
            caption={priceText(shown.cache)}
            columns={MODES.map(({ mode: each }) => ({ name: each, cache: previews[each].cache }))}
          />
          <h3>
            Exactly what it reads <span class="amount">{count(shown.chars)} chars</span>
          </h3>
          <LongText text={shown.text} label={`What a child would read, ${shown.mode}`} />
        </>
      )}
    </>
  );
}

interface ChildPanelProps extends PreviewProps, Omit<BudgetControlProps, "id"> {}

const MODES: readonly { readonly mode: InheritMode; readonly about: string }[] = [
  { mode: "full", about: "the same messages, through the provider's cache" },
  { mode: "trimmed", about: "real messages, old results shortened" },
  { mode: "text", about: "one text in front of its task" },
];

interface ModesTableProps {
  readonly previews: ForkPreviews | undefined;
  readonly inherit: InheritMode | undefined;
  readonly onMode: (inherit: InheritMode) => void;
}

function ModesTable({ previews, inherit, onMode }: ModesTableProps): VNode {
  return (
    <table class="modes">
      <ColumnHeads names={["inherits", "messages", "chars", "window"]} />
      <tbody>
        {MODES.map(({ mode: each, about }) => {
          const preview = previews?.[each];
          return (
            <tr key={each} class={each === inherit ? "chosen" : ""}>
              <th scope="row">
                <label>
                  <input
                    type="radio"
                    name="inherit"
                    value={each}
                    checked={each === inherit}
                    onChange={() => onMode(each)}
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
