import { expect, it } from "vitest";
import { requestHead } from "./request-head.ts";

const tool = (name: string) => ({ name, description: name, parameters: {} });
const first = {
  role: "system",
  content: "",
  sections: { preamble: "You code.", cwd: "/here" },
  toolsAdded: [tool("read"), tool("recall")],
  timestamp: 1,
};
const without = { role: "system", content: "", toolsRemoved: [{ name: "recall" }], timestamp: 2 };
const again = { role: "system", content: "", toolsAdded: [tool("recall")], timestamp: 3 };
const moved = { role: "system", content: "", sections: { cwd: "/there" }, timestamp: 4 };
const user = { role: "user", content: "Look." };
const INLINE = { supportsMidConvoSystemMessages: true, supportsMidConvoToolChanges: true };

it("is the same for the same prompt and tools, however they came about", () => {
  const head = requestHead([first, user], undefined);
  expect(requestHead([{ ...first, timestamp: 9 }, user, user], undefined)).toBe(head);
  expect(requestHead([first, user, without, user, again], undefined)).toBe(head);
});

it("is another one with other tools or another prompt", () => {
  const heads = [[first], [first, without], [first, moved]].map((all) => requestHead([...all, user], {}));
  expect(new Set(heads).size).toBe(3);
});

it("stays where the model reads the change in the middle of the conversation", () => {
  const head = requestHead([first, user], INLINE);
  expect(requestHead([first, user, without, moved], INLINE)).toBe(head);
  const promptsOnly = { supportsMidConvoSystemMessages: true };
  expect(requestHead([first, moved], promptsOnly)).toBe(requestHead([first], promptsOnly));
  expect(requestHead([first, without], promptsOnly)).not.toBe(requestHead([first], promptsOnly));
});
