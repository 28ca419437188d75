import { expect, it } from "vitest";
import { createToasts, joinToasts } from "./toasts.ts";

const ended = (number: number, text = "completed") =>
  ({ name: `Fork ${number} (job ${number})`, text, tone: "success" }) as const;

it.each([
  { name: "one stays as it is", toasts: [ended(1)], message: "Fork 1 (job 1) completed", tone: "success" },
  {
    name: "the same of several forks is one sentence",
    toasts: [ended(1), ended(2), ended(3)],
    message: "3 forks completed: 1 (job 1), 2 (job 2), 3 (job 3)",
    tone: "success",
  },
  {
    name: "the reason is said once",
    toasts: [ended(1, "failed: no credit"), ended(2, "failed: no credit")],
    message: "2 forks failed: 1 (job 1), 2 (job 2) (no credit)",
    tone: "success",
  },
  {
    name: "the most serious comes first and gives the colour",
    toasts: [ended(1), { text: "Nothing can be kept now", tone: "error" } as const],
    message: "Nothing can be kept now\nFork 1 (job 1) completed",
    tone: "error",
  },
  {
    name: "the same message twice is said once",
    toasts: [ended(1), ended(1)],
    message: "Fork 1 (job 1) completed",
    tone: "success",
  },
])("$name", ({ toasts, message, tone }) => {
  expect(joinToasts(toasts)).toMatchObject({ message, tone });
});

it("more lines than can be read are counted", () => {
  const toasts = Array.from({ length: 9 }, (_, number) => ended(number, `failed: ${number}`));
  expect(joinToasts(toasts).message.split("\n")).toHaveLength(7);
  expect(joinToasts(toasts).message).toContain("and 3 more");
});

it("messages that come close together are shown once", async () => {
  const shown: string[] = [];
  const toasts = createToasts({ toast: (message) => void shown.push(message) });
  for (let number = 1; number <= 12; number++) toasts.add(ended(number));
  await expect.poll(() => shown.length).toBe(1);
  expect(shown[0]).toContain("12 forks completed: 1 (job 1)");
});

it("one that would replace another before it was read says both, and of a fork only the newest", async () => {
  const shown: string[] = [];
  const toasts = createToasts({ toast: (message) => void shown.push(message) });
  toasts.add(ended(1, "started"));
  await expect.poll(() => shown.length).toBe(1);
  toasts.add(ended(1));
  await expect.poll(() => shown.length).toBe(2);
  toasts.add(ended(2));
  await expect.poll(() => shown.length).toBe(3);
  expect(shown.slice(1)).toEqual(["Fork 1 (job 1) completed", "2 forks completed: 1 (job 1), 2 (job 2)"]);
});
