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
  // A heading stands above its figures.
  const isFigures = widths.map((_, column) => rows.slice(1).every((row) => isFigure(row[column] ?? "")));
  return rows
    .map((row, index) =>
      `  ${row.map((cell, column) => pad(cell, widths[column] ?? 0, index === 0 && rows.length > 1 && isFigures[column] === true)).join("  ")}`.trimEnd(),
    )
    .join("\n");
}

function pad(cell: string, width: number, isAboveFigures: boolean): string {
  return isAboveFigures || isFigure(cell) ? cell.padStart(width) : cell.padEnd(width);
}

function isFigure(cell: string): boolean {
  return /^<?[\d,.]+(?: [a-z]+| %)?$/.test(cell);
}
