import { describe, expect, it } from "vitest";
import { codeOf, errorMessage, errorWithCode, failureOf, toJson } from "./failure.ts";

describe("a failed system call as a value", () => {
  it.each([
    [errorWithCode("ENOENT", "no such file"), "ENOENT", "no such file"],
    [new Error("broken"), "UNKNOWN", "broken"],
    [Object.assign(new Error("odd"), { code: 5 }), "UNKNOWN", "odd"],
    [{ code: "EIO" }, "EIO", "not an error object"],
    ["thrown text", "UNKNOWN", "not an error object"],
    [null, "UNKNOWN", "not an error object"],
    [undefined, "UNKNOWN", "not an error object"],
  ])("%s", (error, code, reason) => {
    expect(failureOf(error)).toEqual({ status: "failed", code, reason });
    expect(codeOf(error)).toBe(code === "UNKNOWN" ? undefined : code);
  });

  it("is what a value without JSON gives", () => {
    expect(toJson({ a: [1] })).toBe('{"a":[1]}');
    expect(toJson(null)).toBe("null");
    const refused = (value: unknown, reason: unknown) =>
      expect(toJson(value)).toEqual({ status: "failed", code: "NOT_JSON", reason });
    refused(undefined, "JSON has no text for undefined");
    refused(() => 1, "JSON has no text for function");
    refused(1n, expect.stringMatching(/BigInt/));
    const thrower = {
      toJSON() {
        throw "nothing to read";
      },
    };
    refused(thrower, "the value refused");
  });
});

it("reads what was thrown, whatever it is", () => {
  expect(errorMessage(new TypeError("no"))).toBe("no");
  expect(errorMessage("plain")).toBe("plain");
  expect(errorMessage(undefined)).toBe("undefined");
  expect(errorMessage(Object.create(null))).toBe("threw something that cannot be read");
});
