import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultStateFolder } from "./state-folder.ts";

describe("defaultStateFolder", () => {
  it.each([
    {
      name: "the state home",
      env: { XDG_STATE_HOME: "/state", HOME: "/home/me" },
      folder: "/state/carryover",
    },
    { name: "the home folder", env: { HOME: "/home/me" }, folder: "/home/me/.local/state/carryover" },
    {
      name: "the home folder when the state home is empty",
      env: { XDG_STATE_HOME: "", HOME: "/h" },
      folder: "/h/.local/state/carryover",
    },
    {
      name: "the home folder when the state home is relative",
      env: { XDG_STATE_HOME: "x", HOME: "/h" },
      folder: "/h/.local/state/carryover",
    },
    {
      name: "the user's home when there is no variable",
      env: {},
      folder: join(homedir(), ".local/state/carryover"),
    },
  ])("is in $name", ({ env, folder }) => {
    expect(defaultStateFolder(env)).toBe(folder);
  });

  it("goes by the environment of the process when none is given", () => {
    expect(defaultStateFolder()).toBe(defaultStateFolder(process.env));
  });
});
