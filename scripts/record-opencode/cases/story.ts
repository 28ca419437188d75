import { call, callAll, type Step, say } from "../../../test/rig/model-server/step.ts";
import { MIDDLE_WINDOW } from "../../../test/rig/opencode/sandbox.ts";
import { refundList } from "../orders.ts";
import type { RecordingCase, Stage } from "../stage.ts";
import { summary, untilPruned } from "../turns.ts";
import { afterCompaction, releaseTurn } from "./story-after-compaction.ts";
import { STORY_FILES } from "./story-project.ts";

/** The session that the first command of the readme shows. */
export const storyCase: RecordingCase = {
  name: "story",
  title: "Invoice totals are a cent off",
  about: "A bug hunt in a small project, long enough to be pruned and compacted.",
  file: "examples/sessions/opencode-session.json",
  config: { compaction: { prune: true, tail_turns: 4, preserve_recent_tokens: 50_000 } },
  files: STORY_FILES,
  async play(stage) {
    await play(stage, {
      text: `The January close stopped: some refunds are one cent off. The rule is in the attached page, and this is the list from bookkeeping. Can you find out why?\n\n${refundList(660)}`,
      attach: "docs/rounding.md",
      steps: firstLook(stage.project),
    });
    await play(stage, {
      text: "Before you change code, look at the real orders, one status after another. I want to know which ones can be affected.",
      steps: lookAtOrders(stage.project),
    });
    await play(stage, {
      text: "Could the reader of the file be at fault?",
      steps: checkReader(stage.project),
    });
    await play(stage, {
      text: "Good. Then write a test that shows the refund problem on its own.",
      steps: writeTest(stage.project),
    });
    await untilPruned(stage);
    await play(stage, {
      text: "Now fix it, both the refunds and the double rounding.",
      steps: [...startFix(stage.project), summary(SUMMARY), ...afterCompaction(stage.project)],
    });
    await play(stage, { text: "Release it as 0.4.3, please.", steps: releaseTurn(stage.project) });
    return JSON.parse(await stage.opencode().runCommand("export", stage.sessionId));
  },
};

interface StoryTurn {
  readonly text: string;
  readonly attach?: string;
  readonly steps: readonly Step[];
}

async function play(stage: Stage, { text, attach, steps }: StoryTurn): Promise<void> {
  const parts =
    attach === undefined
      ? []
      : [{ type: "file", mime: "text/plain", filename: attach, url: `file://${stage.project}/${attach}` }];
  await stage.turn({ text, parts, model: MIDDLE_WINDOW }, steps);
}

function firstLook(project: string): readonly Step[] {
  return [
    callAll(
      [
        {
          tool: "bash",
          input: {
            command: "git log --oneline && ls -R src test docs data",
            description: "List the project",
          },
        },
        { tool: "read", input: { filePath: `${project}/package.json` } },
      ],
      { reasoning: "I should know the layout before I guess.", text: "I will look at the project first." },
    ),
    callAll([
      { tool: "read", input: { filePath: `${project}/src/money.mjs` } },
      { tool: "read", input: { filePath: `${project}/src/invoice.mjs` } },
    ]),
    call("bash", { command: "npm test", description: "Run the tests" }, { text: "Now the tests." }),
    say(
      "Two things break the rule of docs/rounding.md. `invoiceTotal` rounds every line twice, before and after tax, " +
        "instead of once at the end. And `roundCents` uses `Math.round`, which rounds -0.5 to 0 where the rule wants -1, " +
        "so a refund is not always the opposite of its invoice. The tests show both: the one about three small lines, and two of those about refunds.",
      { reasoning: "Math.round goes up at a half, also below zero. That fits refunds being off." },
    ),
  ];
}

function lookAtOrders(project: string): readonly Step[] {
  const look = (status: string, text: string): Step =>
    call("grep", { pattern: `,${status},`, path: `${project}/data`, include: "*.csv" }, { text });
  return [
    look("paid", "First the paid ones."),
    look("shipped", "Shipped orders have the same columns."),
    look("voucher", "Vouchers could carry odd discounts."),
    look("partial", "Partial deliveries next."),
    look("refunded", "And the refunds themselves."),
    say(
      "Only the refunded orders have negative quantities, so only they can hit the half-cent problem; about one in five has a discount of 12.5 percent, " +
        "where half cents are common. The double rounding can hit any order with a discount.",
    ),
  ];
}

function checkReader(project: string): readonly Step[] {
  const count =
    "node -e \"import('./src/csv.mjs').then(async ({ parseRecords }) => { const { readFileSync } = await import('node:fs'); " +
    "const records = parseRecords(readFileSync('data/orders.csv', 'utf8')); console.log(records.length, Object.keys(records[0]).length); })\"";
  return [
    call("read", { filePath: `${project}/src/csv.mjs` }),
    call("bash", { command: `wc -l data/orders.csv && ${count}`, description: "Compare lines and records" }),
    say(
      "No: 660 records from 661 lines with the header, twelve fields each, and quoted commas are read correctly.",
    ),
  ];
}

const REFUND_TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { invoiceTotal, refundOf } from "../src/invoice.mjs";
import { roundCents } from "../src/money.mjs";

for (const [value, cents] of [[-0.4, 0], [-0.5, -1], [-1.5, -2], [-2.49, -2]]) {
  test(\`rounds \${value} to \${cents}\`, () => assert.equal(roundCents(value) + 0, cents));
}

for (const discountPercent of [0, 5, 10, 12.5]) {
  for (let quantity = 1; quantity <= 9; quantity++) {
    test(\`\${quantity} pieces at \${discountPercent} percent off: the refund is the opposite\`, () => {
      const lines = [{ quantity, unitCents: 1999 }, { quantity: 1, unitCents: 5 }];
      assert.equal(invoiceTotal(refundOf(lines), { discountPercent }), -invoiceTotal(lines, { discountPercent }));
    });
  }
}
`;

function writeTest(project: string): readonly Step[] {
  return [
    call("write", { filePath: `${project}/test/refund.test.mjs`, content: REFUND_TEST }),
    call("bash", {
      command: "node --test --test-reporter=spec test/refund.test.mjs; echo exit code $?",
      description: "Run the new test",
    }),
    say("test/refund.test.mjs fails as it should: rounding below zero, and several refunds with a discount."),
  ];
}

function startFix(project: string): readonly Step[] {
  return [
    call(
      "edit",
      {
        filePath: `${project}/src/money.mjs`,
        oldString: "  return Math.floor(value + 0.5);\n",
        newString: "  return Math.sign(value) * Math.round(Math.abs(value)) + 0;\n",
      },
      { text: "I start with the rounding." },
    ),
    // The usage that makes the window count as full.
    call(
      "bash",
      { command: "npm run report", description: "Note the totals before the fix" },
      {
        text: "That text is not in the file as I wrote it. Before I try again I note the totals of today.",
        usage: { inputTokens: 83_950, outputTokens: 90 },
      },
    ),
  ];
}

const SUMMARY = `## Objective
- Make invoice totals in the project "tally" follow docs/rounding.md, so that the January close works: refunds must be the exact opposite of their invoices.

## Important Details
- docs/rounding.md: add the lines, take off the discount, add tax, round once at the end, half away from zero.
- Cause 1: \`roundCents\` in src/money.mjs uses Math.round, which rounds -0.5 to 0.
- Cause 2: \`invoiceTotal\` in src/invoice.mjs rounds every line twice.
- The user wants both fixed. The reader (src/csv.mjs) was checked and is not at fault.

## Work State
### Completed
- Looked through data/orders.csv by status; only refunded orders have negative quantities.
- Wrote test/refund.test.mjs, which fails before the fix.

### Active
- First edit of src/money.mjs failed: the text to replace was not found (the file says Math.round, not Math.floor).

### Blocked
- (none)

## Next Move
1. Read src/money.mjs again and change roundCents.
2. Change invoiceTotal to round once.
3. Run all tests, then compare \`npm run report\` before and after.

## Relevant Files
- src/money.mjs, src/invoice.mjs: to be fixed
- test/refund.test.mjs, test/invoice.test.mjs: must pass`;
