import { call, callAll, type Step, say } from "../../../test/rig/model-server/step.ts";

/** The fix itself, which happens behind the compaction. */
export function afterCompaction(project: string): readonly Step[] {
  const path = (name: string): string => `${project}/${name}`;
  const npmTest = (why: string): Step => call("bash", { command: "npm test", description: why });
  return [
    call("read", { filePath: path("src/money.mjs") }, { text: "I read the file again before I edit it." }),
    call("edit", {
      filePath: path("src/money.mjs"),
      oldString: "  return Math.round(value);\n",
      newString: "  return Math.sign(value) * Math.round(Math.abs(value)) + 0;\n",
    }),
    call("bash", {
      command: "node --test --test-reporter=spec test/refund.test.mjs test/money.test.mjs",
      description: "Run the rounding tests",
    }),
    call(
      "read",
      { filePath: path("src/invoice.mjs") },
      { text: "Refunds are right now. Next the double rounding." },
    ),
    call("edit", { filePath: path("src/invoice.mjs"), oldString: LOOP_BEFORE, newString: LOOP_AFTER }),
    npmTest("Run all tests"),
    call("bash", {
      command: "git stash -q && npm run report; git stash pop -q",
      description: "Totals before the fix",
    }),
    call("bash", { command: "npm run report", description: "Totals after the fix" }),
    call(
      "read",
      { filePath: path("docs/discounts.md") },
      { text: "Is there a page about discounts that says otherwise?" },
    ),
    callAll([
      { tool: "grep", input: { pattern: "roundCents|Math\\.round", path: project, include: "*.mjs" } },
      { tool: "read", input: { filePath: path("src/report.mjs") } },
    ]),
    call(
      "bash",
      { command: "node scripts/compare.mjs", description: "Compare order by order" },
      {
        text: "The totals moved. I want to see which orders changed.",
      },
    ),
    call(
      "write",
      { filePath: path("scripts/compare.mjs"), content: COMPARE },
      { text: "There is no such script yet; I write one." },
    ),
    call("bash", { command: "node scripts/compare.mjs", description: "Compare order by order" }),
    call("bash", { command: "node scripts/compare.mjs | tail -1", description: "Count the changed orders" }),
    call("read", { filePath: path("test/invoice.test.mjs") }),
    call("edit", {
      filePath: path("test/invoice.test.mjs"),
      oldString: 'test("tax is added"',
      newString: `${HALF_CENT_TEST}\ntest("tax is added"`,
    }),
    npmTest("Run all tests again"),
    call("bash", { command: "git status --short && git diff", description: "Look at the whole change" }),
    say(
      "Both are fixed. `roundCents` rounds half away from zero, and `invoiceTotal` rounds once, at the end. All tests pass, " +
        "with a new one for a half cent. scripts/compare.mjs lists every order whose total changed; no refund differs from its invoice any more.",
    ),
  ];
}

/** The last turn: a version, a note, a commit. */
export function releaseTurn(project: string): readonly Step[] {
  return [
    call("edit", {
      filePath: `${project}/package.json`,
      oldString: '"version": "0.4.2"',
      newString: '"version": "0.4.3"',
    }),
    call("write", { filePath: `${project}/CHANGELOG.md`, content: CHANGELOG }),
    call("bash", {
      command:
        "npm test 2>&1 | tail -9 && git add -A && git -c user.name=dev -c user.email=dev@example.invalid commit -q -m 'Round once, half away from zero' && git log --oneline",
      description: "Test and commit",
    }),
    say("0.4.3 is committed: version, changelog, fix and tests. The January close can run again."),
  ];
}

const LOOP_BEFORE = `  let total = 0;
  for (const line of lines) {
    const gross = line.quantity * line.unitCents;
    const net = roundCents((gross * (100 - discountPercent)) / 100);
    total += roundCents((net * (100 + taxPercent)) / 100);
  }
  return total;
`;

const LOOP_AFTER = `  const gross = lines.reduce((sum, line) => sum + line.quantity * line.unitCents, 0);
  return roundCents((gross * (100 - discountPercent) * (100 + taxPercent)) / 10_000);
`;

const HALF_CENT_TEST = `test("half a cent goes away from zero on both sides", () => {
  const lines = [{ quantity: 1, unitCents: 25 }];
  assert.equal(invoiceTotal(lines, { taxPercent: 2 }), 26);
  assert.equal(invoiceTotal(refundOf(lines), { taxPercent: 2 }), -26);
});
`;

const COMPARE = `import { readFile } from "node:fs/promises";
import { parseRecords } from "../src/csv.mjs";
import { invoiceTotal } from "../src/invoice.mjs";
import { formatCents, parseCents } from "../src/money.mjs";

const roundedTwice = ({ quantity, unitCents }, discountPercent) =>
  Math.round((Math.round((quantity * unitCents * (100 - discountPercent)) / 100) * 120) / 100);

let changed = 0;
for (const record of parseRecords(await readFile("data/orders.csv", "utf8"))) {
  const line = { quantity: Number(record.quantity), unitCents: parseCents(record.unit) };
  const discountPercent = Number(record.discount);
  const before = roundedTwice(line, discountPercent);
  const after = invoiceTotal([line], { discountPercent });
  if (before === after) continue;
  changed += 1;
  console.log(record.order, record.status.padEnd(9), formatCents(before).padStart(10), "->", formatCents(after).padStart(10));
}
console.log(\`\${changed} orders changed\`);
`;

const CHANGELOG = `# Changelog

## 0.4.3

- Totals are rounded once, at the end, as docs/rounding.md says; they were rounded twice for every line.
- Half a cent is rounded away from zero also below zero, so a refund is the exact opposite of its invoice.
`;
