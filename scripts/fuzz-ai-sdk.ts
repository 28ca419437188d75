import { parseArgs } from "node:util";
import fc from "fast-check";
import { type Played, playConversation } from "../test/ai-sdk/harness/play-conversation.ts";
import { anyConversation } from "../test/ai-sdk/harness/random-conversation.ts";
import { RECORDED_APIS } from "../test/rig/ai-sdk-requests.ts";

// Many random conversations through the middleware to a provider that enforces its rules: `--count`, `--seed`, `--api`.
const { values } = parseArgs({
  options: {
    count: { type: "string", default: "10000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    api: { type: "string" },
  },
});
const count = Number(values.count);
const seed = Number(values.seed);
for (const api of RECORDED_APIS.filter((each) => values.api === undefined || values.api === each)) {
  console.log(`${count} conversations on ${api}, seed ${seed}`);
  const totals = { conversations: 0, turns: 0, requests: 0, summaries: 0, tooLong: 0, warnings: 0 };
  let faulty = 0;
  const add = ({ turns, requests, summaries, tooLong, warnings }: Played): void => {
    totals.conversations++;
    totals.turns += turns;
    totals.requests += requests;
    totals.summaries += summaries;
    totals.tooLong += tooLong;
    totals.warnings += warnings.filter((code) => code === "request-not-edited").length;
    if (faulty === 0 && totals.conversations % 500 === 0)
      console.log(api, JSON.stringify(totals), "no fault so far");
  };
  const details = await fc.check(
    fc.asyncProperty(anyConversation, async (conversation) => {
      const played = await playConversation(conversation, { api, over: "function" });
      if (played.problems.length > 0) {
        // Print immediately: shrinking the conversation can take an hour.
        if (faulty++ === 0)
          console.error(
            `${api}: a fault after ${totals.conversations} conversations\n${played.problems.join("\n")}`,
          );
        throw new Error(played.problems.join("\n"));
      }
      add(played);
    }),
    { numRuns: count, seed },
  );
  if (details.failed) {
    console.error(fc.defaultReportMessage(details));
    process.exitCode = 1;
  } else {
    console.log(api, JSON.stringify(totals), "0 faults");
  }
}
