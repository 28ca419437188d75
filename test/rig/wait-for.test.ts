import { expect, it } from "vitest";
import { waitFor } from "./wait-for.ts";

it("gives what the condition gives at last", async () => {
  let looks = 0;
  expect(await waitFor(() => (++looks < 3 ? undefined : looks), "the third look")).toBe(3);
});

it("takes nothing and zero for something", async () => {
  expect(await waitFor(() => 0, "a number")).toBe(0);
  expect(await waitFor(() => "", "a text")).toBe("");
});

it("says what never came", async () => {
  await expect(waitFor(() => false, { what: "a bus", timeoutMs: 1 })).rejects.toThrow(
    "Waited 1 ms in vain: a bus",
  );
});
