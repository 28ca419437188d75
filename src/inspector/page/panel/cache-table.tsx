import type { VNode } from "preact";
import type { CacheCost } from "../../view/types.ts";
import { ColumnHeads } from "../elements/column-heads.tsx";
import { count, plural } from "../words/numbers.ts";

/** The cache costs of several choices, one column each. */
export function CacheTable({ columns, caption }: CacheTableProps): VNode {
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
export function priceText({ pricesKnown, readMultiplier, writeMultiplier }: CacheCost): string {
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
