/** Rows as aligned columns, two spaces in; columns of figures are set to the right. */
export function renderTable(
  rows: readonly (readonly string[])[],
  { empty = "" }: { readonly empty?: string } = {},
): string {
  if (rows.length === 0) return empty;
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map((row) => `  ${row.map((cell, column) => pad(cell, widths[column] ?? 0)).join("  ")}`.trimEnd())
    .join("\n");
}

function pad(cell: string, width: number): string {
  return /^[\d,.]+( chars| %)?$/.test(cell) ? cell.padStart(width) : cell.padEnd(width);
}
