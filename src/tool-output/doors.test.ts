import { expect, it } from "vitest";
import { ConfigurationError } from "../text/check.ts";
import { trimToolOutput, truncateToolContent } from "./doors.ts";
import type { OutputStore } from "./output-store.ts";

it("truncateToolContent says everything that is wrong with what it is given, by its name", async () => {
  const store = { put: 1 } as unknown as OutputStore;
  const trimmed = truncateToolContent([], { maxLines: -1 }, store, { normalize: "no" } as never);
  await expect(trimmed).rejects.toThrow(/limits\.maxLines.*store.*normalize/s);
  const limits = { maxLines: -1, truncateMode: "middle" } as never;
  await expect(truncateToolContent([{ type: "text", text: "x" }], limits)).rejects.toThrow(
    ConfigurationError,
  );
});

it("trimToolOutput refuses limits that cannot be used", async () => {
  await expect(trimToolOutput("a", { limits: { maxLines: -1 } })).rejects.toThrow("maxLines is -1");
  const flat = { maxLines: 10, stor: 5 } as never;
  await expect(trimToolOutput("a", flat)).rejects.toThrow(
    /maxLines is not an option.*stor is not an option; did you mean store\?/,
  );
});
