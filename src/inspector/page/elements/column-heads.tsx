import type { VNode } from "preact";

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
