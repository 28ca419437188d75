import type { VNode } from "preact";
import type { CacheSum } from "../../view/types.ts";
import { count, plural } from "../words/numbers.ts";

/** The cache arithmetic of several choices, one column each. */
export function CacheTable({ columns, caption }: CacheTableProps): VNode {
  return (
    <table class="cache">
      <caption>{caption}</caption>
      <thead>
        <tr>
          <td />
          {columns.map(({ name }) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {LINES.map(({ label, value }) => (
          <tr key={label}>
            <th scope="row">{label}</th>
            {columns.map(({ name, cache }) => (
              <td key={name}>{cache === undefined ? "" : value(cache)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface CacheTableProps {
  readonly caption: string;
  readonly columns: readonly { readonly name: string; readonly cache: CacheSum | undefined }[];
}

/** How prices are known, in a sentence. */
export function priceText({ pricesKnown, readMultiplier, writeMultiplier }: CacheSum): string {
  if (!pricesKnown) return "The model's name says nothing about its prices: every token counts the same.";
  return `A token that is read from the cache costs ${readMultiplier} of an ordinary one, one that is written ${writeMultiplier}.`;
}

function breakEvenText(steps: number | undefined): string {
  if (steps === undefined) return "never";
  return steps <= 1 ? "1, at once" : count(Math.ceil(steps));
}

const LINES: readonly { readonly label: string; readonly value: (cache: CacheSum) => string }[] = [
  { label: "read from the cache", value: ({ readTokens }) => count(readTokens) },
  { label: "written anew", value: ({ writtenTokens }) => count(writtenTokens) },
  { label: "first request costs", value: ({ firstBaseTokens }) => count(firstBaseTokens) },
  { label: "without the change it costs", value: ({ appendOnlyBaseTokens }) => count(appendOnlyBaseTokens) },
  {
    label: "price against no change",
    value: ({ relativeCost, expectedSteps }) =>
      `${Math.round(100 * relativeCost)} % over ${plural(expectedSteps, "request")}`,
  },
  {
    label: "cheaper from which request on",
    value: ({ breakEvenSteps }) => breakEvenText(breakEvenSteps),
  },
];
