// Trim a long tool output before the model sees it, then read back the part it asks for.
import assert from "node:assert/strict";
import { createMemoryOutputStore, trimToolOutput } from "carryover";

// What a build printed: 3,000 lines, coloured, with the one line that matters in the middle, and a screenshot.
const lines = Array.from(
  { length: 3_000 },
  (_, index) => `\x1b[32mok\x1b[0m ${index + 1} compiled without a word`,
);
lines[1_499] = "\x1b[31merror\x1b[0m 1500 cannot find the module ./missing";
const screenshot = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };

const store = createMemoryOutputStore();
const limits = { maxLines: 8 };
const output = await trimToolOutput([{ type: "text", text: lines.join("\n") }, screenshot], {
  limits,
  store,
});
console.log(output.text);

// Both ends stay, without colours; the numbers add up; the screenshot is still there.
assert.ok(output.text.startsWith("ok 1 compiled"));
assert.ok(output.text.includes("ok 3000 compiled"));
assert.deepEqual(output.stats.lines, { shown: 8, omitted: 2_992, total: 3_000 });
assert.equal(output.blocks[1], screenshot);

// The model asks for what lies between, by the handle that the notice names.
assert.ok(output.handle !== undefined && output.text.includes(output.handle));
const whole = await store.get(output.handle);
const recalled = whole?.split("\n").find((line) => line.includes("error"));
console.log(`\nRecalled from the store: ${recalled}`);
assert.match(recalled ?? "", /cannot find the module/);

// An output is trimmed once: what was left out is kept with it, as the `cut` of its tool part.
assert.equal(output.cut?.method, "head-tail");
const again = await trimToolOutput(output.blocks, { limits, store, cut: output.cut });
assert.equal(again.blocks, output.blocks);
