import { expect, it } from "vitest";
import { ConfigurationError } from "./check.ts";

it("lists every problem, and is known by its code where two copies of the package are installed", () => {
  const error = new ConfigurationError(["a is 1", "b is 2"]);
  expect(error.message).toBe("Cannot use these settings: a is 1; b is 2");
  expect(error).toMatchObject({
    name: "ConfigurationError",
    code: "CARRYOVER_CONFIGURATION",
    problems: ["a is 1", "b is 2"],
  });
});
