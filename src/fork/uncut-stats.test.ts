import { expect, it } from "vitest";
import { transcript } from "../testing/notation.ts";
import { buildForkPreamble } from "./context/preamble.ts";
import { uncutStats } from "./fork.ts";

it("counts everything and nothing as left out, however long it is", () => {
  const stats = uncutStats(transcript("u:10 a(bash:900000) a(read:900000) u:5 a:20"));
  expect(stats).toMatchObject({ finalCount: 5, truncatedResults: 0, removedMessages: 0 });
  expect(stats.applied).toBeUndefined();
  expect(buildForkPreamble(stats)).not.toContain("budget");
});
