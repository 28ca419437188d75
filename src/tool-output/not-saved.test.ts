import { describe, expect, it } from "vitest";
import { type OutputRef, type OutputStore, saveOutput } from "./output-store.ts";

const stored: OutputRef = { status: "stored", handle: "h", sha256: "s", bytes: 1 };

function storeThat(put: () => unknown): OutputStore {
  return { put: put as OutputStore["put"], get: async () => undefined };
}

describe("saveOutput", () => {
  it("gives back what the store gives", async () => {
    expect(await saveOutput("x", { store: storeThat(async () => stored) })).toBe(stored);
  });

  it.each([
    {
      name: "a store that rejects",
      put: async () => {
        throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      },
      code: "ENOSPC",
    },
    {
      name: "a store that throws at once",
      put: () => {
        throw new Error("broken");
      },
      code: "UNKNOWN",
    },
    {
      name: "a store that throws nothing in particular",
      put: () => {
        throw undefined;
      },
      code: "UNKNOWN",
    },
    { name: "a store that answers nothing", put: async () => undefined, code: "BAD_ANSWER" },
    { name: "a store that answers null", put: async () => null, code: "BAD_ANSWER" },
    { name: "a store without a handle", put: async () => ({ status: "stored" }), code: "BAD_ANSWER" },
    ...(["handle", "sha256", "bytes"] as const).map((field) => ({
      name: `a store whose ${field} is of another type`,
      put: async () => ({ ...stored, [field]: field === "bytes" ? "1" : 1 }),
      code: "BAD_ANSWER",
    })),
    {
      name: "a store that throws null",
      put: () => {
        throw null;
      },
      code: "UNKNOWN",
    },
    {
      name: "a code that would break the line",
      put: async () => ({ status: "failed", code: "E]\n[x", reason: "" }),
      code: "UNKNOWN",
    },
  ])("makes a failure of $name", async ({ put, code }) => {
    const never = new AbortController().signal;
    expect(await saveOutput("x", { store: storeThat(put) })).toMatchObject({ status: "failed", code });
    expect(await saveOutput("x", { store: storeThat(put), signal: never })).toMatchObject({
      status: "failed",
      code,
    });
  });

  it("listens to the signal no longer than it waits", async () => {
    const { signal } = new AbortController();
    const listeners: string[] = [];
    signal.addEventListener = (type: string) => void listeners.push(type);
    signal.removeEventListener = (type: string) => void listeners.splice(listeners.indexOf(type), 1);
    await saveOutput("x", { store: storeThat(async () => stored), signal });
    expect(listeners).toEqual([]);
  });

  it("stops waiting for a store that never answers", async () => {
    const controller = new AbortController();
    const outcome = saveOutput("x", {
      store: storeThat(() => new Promise(() => {})),
      signal: controller.signal,
    });
    controller.abort();
    expect(await outcome).toMatchObject({ status: "failed", code: "ABORTED" });
  });

  it("does not ask the store when the caller has stopped waiting already", async () => {
    let asked = 0;
    const store = storeThat(async () => {
      asked++;
      return stored;
    });
    expect(await saveOutput("x", { store, signal: AbortSignal.abort() })).toMatchObject({ code: "ABORTED" });
    expect(asked).toBe(0);
  });
});
