import { orders } from "../orders.ts";

/** A small invoicing project whose totals are wrong in two ways, with tests that show one of them. */
export const STORY_FILES: Readonly<Record<string, string>> = {
  "package.json": `{
  "name": "tally",
  "version": "0.4.2",
  "private": true,
  "type": "module",
  "scripts": {
    "test": "node --test --test-reporter=spec test/*.test.mjs",
    "report": "node src/report.mjs data/orders.csv"
  }
}
`,
  "docs/rounding.md": `# Rounding

An invoice is rounded **once**.

1. Multiply quantity and unit price of every line. Both are whole numbers, so nothing is lost.
2. Add the lines.
3. Take the discount off the sum.
4. Add the tax.
5. Round to whole cents, half away from zero: 0.5 becomes 1, and -0.5 becomes -1.

A refund is an invoice with negative quantities and must come out as the exact opposite of its invoice.
The accountants compare the two by machine, so a single cent stops the monthly close.
`,
  "src/money.mjs": `/** Amounts are whole cents everywhere; only these functions know how they are written. */

export function parseCents(text) {
  const match = /^(-?)(\\d+)(?:\\.(\\d{1,2}))?$/.exec(text.trim());
  if (!match) throw new TypeError(\`not an amount: \${JSON.stringify(text)}\`);
  const [, sign, whole, fraction = ""] = match;
  const cents = Number(whole) * 100 + Number(fraction.padEnd(2, "0"));
  return sign ? -cents : cents;
}

export function formatCents(cents) {
  const sign = cents < 0 ? "-" : "";
  const digits = String(Math.abs(cents)).padStart(3, "0");
  return \`\${sign}\${digits.slice(0, -2)}.\${digits.slice(-2)}\`;
}

/** Half away from zero, see docs/rounding.md. */
export function roundCents(value) {
  return Math.round(value);
}
`,
  "src/invoice.mjs": `import { roundCents } from "./money.mjs";

/** What the customer pays, in cents. Lines are { quantity, unitCents }. */
export function invoiceTotal(lines, { discountPercent = 0, taxPercent = 20 } = {}) {
  let total = 0;
  for (const line of lines) {
    const gross = line.quantity * line.unitCents;
    const net = roundCents((gross * (100 - discountPercent)) / 100);
    total += roundCents((net * (100 + taxPercent)) / 100);
  }
  return total;
}

/** The invoice that takes another one back. */
export function refundOf(lines) {
  return lines.map((line) => ({ ...line, quantity: -line.quantity }));
}
`,
  "src/csv.mjs": `/**
 * Reads comma-separated values. A field may stand in double quotes; then it may contain commas, line ends
 * and, doubled, quotes. Lines may end with a line feed or with carriage return and line feed.
 */
export function parseCsv(text) {
  const rows = [];
  let row = [];
  let field = "";
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const char = text[index];
    if (quoted) {
      if (char !== '"') {
        field += char;
      } else if (text[index + 1] === '"') {
        field += '"';
        index += 1;
      } else {
        quoted = false;
      }
      continue;
    }
    switch (char) {
      case '"':
        quoted = true;
        break;
      case ",":
        row.push(field);
        field = "";
        break;
      case "\\r":
        break;
      case "\\n":
        row.push(field);
        rows.push(row);
        row = [];
        field = "";
        break;
      default:
        field += char;
    }
  }
  if (quoted) throw new SyntaxError("a quoted field is never closed");
  if (field !== "" || row.length > 0) {
    row.push(field);
    rows.push(row);
  }
  return rows;
}

/** Rows as objects, with the names of the first row as keys. */
export function parseRecords(text) {
  const [header, ...rows] = parseCsv(text);
  if (header === undefined) return [];
  return rows.map((row, index) => {
    if (row.length !== header.length) {
      throw new SyntaxError(\`row \${index + 2} has \${row.length} fields, the header has \${header.length}\`);
    }
    return Object.fromEntries(header.map((name, column) => [name, row[column]]));
  });
}

/** Writes records back, quoting what needs it. */
export function formatCsv(records) {
  if (records.length === 0) return "";
  const header = Object.keys(records[0]);
  const lines = [header, ...records.map((record) => header.map((name) => record[name]))];
  return lines.map((line) => line.map(formatField).join(",")).join("\\n") + "\\n";
}

function formatField(value) {
  const text = String(value);
  return /[",\\r\\n]/.test(text) ? \`"\${text.replaceAll('"', '""')}"\` : text;
}
`,
  "src/report.mjs": `import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { parseRecords } from "./csv.mjs";
import { invoiceTotal } from "./invoice.mjs";
import { formatCents, parseCents } from "./money.mjs";

/** Total per status, in cents. */
export function totalsByStatus(records) {
  const totals = new Map();
  for (const record of records) {
    const lines = [{ quantity: Number(record.quantity), unitCents: parseCents(record.unit) }];
    const total = invoiceTotal(lines, { discountPercent: Number(record.discount) });
    totals.set(record.status, (totals.get(record.status) ?? 0) + total);
  }
  return totals;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const records = parseRecords(await readFile(process.argv[2], "utf8"));
  for (const [status, total] of totalsByStatus(records)) {
    console.log(status.padEnd(12), formatCents(total).padStart(14));
  }
}
`,
  "test/money.test.mjs": `import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCents, parseCents, roundCents } from "../src/money.mjs";

for (const [text, cents] of [["0", 0], ["1", 100], ["1.5", 150], ["12.34", 1234], ["-0.05", -5], ["-3", -300]]) {
  test(\`parses \${text}\`, () => assert.equal(parseCents(text), cents));
}

for (const text of ["", "1,5", "1.234", "abc", "--1"]) {
  test(\`refuses \${JSON.stringify(text)}\`, () => assert.throws(() => parseCents(text), TypeError));
}

for (const [cents, text] of [[0, "0.00"], [5, "0.05"], [-5, "-0.05"], [123456, "1234.56"]]) {
  test(\`writes \${cents} as \${text}\`, () => assert.equal(formatCents(cents), text));
}

for (const [value, cents] of [[0.4, 0], [0.5, 1], [1.5, 2], [2.49, 2]]) {
  test(\`rounds \${value} to \${cents}\`, () => assert.equal(roundCents(value), cents));
}
`,
  "test/invoice.test.mjs": `import assert from "node:assert/strict";
import { test } from "node:test";
import { invoiceTotal, refundOf } from "../src/invoice.mjs";

test("an empty invoice costs nothing", () => assert.equal(invoiceTotal([]), 0));

test("tax is added", () => {
  assert.equal(invoiceTotal([{ quantity: 2, unitCents: 1000 }]), 2400);
});

test("three small lines are rounded together", () => {
  const lines = [1, 1, 1].map((quantity) => ({ quantity, unitCents: 33 }));
  assert.equal(invoiceTotal(lines, { discountPercent: 10 }), 107);
});

for (let unitCents = 1; unitCents <= 40; unitCents++) {
  test(\`a refund of a line at \${unitCents} cents is the opposite of its invoice\`, () => {
    const lines = [{ quantity: 3, unitCents }];
    const options = { discountPercent: 5 };
    assert.equal(invoiceTotal(refundOf(lines), options), -invoiceTotal(lines, options));
  });
}
`,
  "test/csv.test.mjs": `import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCsv, parseCsv, parseRecords } from "../src/csv.mjs";

test("plain rows", () => assert.deepEqual(parseCsv("a,b\\n1,2\\n"), [["a", "b"], ["1", "2"]]));
test("a quoted comma", () => assert.deepEqual(parseCsv('"a,b",c'), [["a,b", "c"]]));
test("a doubled quote", () => assert.deepEqual(parseCsv('"say ""hi"""'), [['say "hi"']]));
test("a line end in quotes", () => assert.deepEqual(parseCsv('"a\\nb"\\n'), [["a\\nb"]]));
test("an unclosed quote is an error", () => assert.throws(() => parseCsv('"a'), SyntaxError));
test("a short row is an error", () => assert.throws(() => parseRecords("a,b\\n1\\n"), /row 2 has 1 fields/));
test("what is written can be read", () => {
  const records = [{ a: 'x "y"', b: "1,5" }, { a: "", b: "line\\nend" }];
  assert.deepEqual(parseRecords(formatCsv(records)), records);
});
`,
  "data/orders.csv": orders(660),
};
