import { expect, it } from "vitest";
import { ConfigurationError } from "../text/check.ts";
import { boundToolOutput, truncateToolContent } from "./doors.ts";
import type { SpillStore } from "./spill.ts";

it("truncateToolContent says everything that is wrong with what it is given, by its name", async () => {
  const store = { put: 1 } as unknown as SpillStore;
  const bounded = truncateToolContent([], { maxLines: -1 }, store, { normalize: "no" } as never);
  await expect(bounded).rejects.toThrow(/limits\.maxLines.*store.*normalize/s);
  const limits = { maxLines: -1, truncateMode: "middle" } as never;
  await expect(truncateToolContent([{ type: "text", text: "x" }], limits)).rejects.toThrow(
    ConfigurationError,
  );
});

it("boundToolOutput refuses limits that cannot be used", async () => {
  await expect(boundToolOutput("a", { limits: { maxLines: -1 } })).rejects.toThrow("maxLines is -1");
  const flat = { maxLines: 10, stor: 5 } as never;
  await expect(boundToolOutput("a", flat)).rejects.toThrow(
    /maxLines is not an option.*stor is not an option; did you mean store\?/,
  );
});
