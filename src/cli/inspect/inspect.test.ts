import { describe, expect, it } from "vitest";
import { browserCommand } from "./inspect.ts";

describe("browserCommand", () => {
  it.each([
    { name: "what the person named", env: { BROWSER: "firefox" }, platform: "linux", command: ["firefox"] },
    { name: "xdg-open under X", env: { DISPLAY: ":0" }, platform: "linux", command: ["xdg-open"] },
    {
      name: "xdg-open under Wayland",
      env: { WAYLAND_DISPLAY: "w" },
      platform: "linux",
      command: ["xdg-open"],
    },
    { name: "nothing where there is no screen", env: {}, platform: "linux", command: undefined },
    { name: "open on a Mac", env: {}, platform: "darwin", command: ["open"] },
    { name: "start on Windows", env: {}, platform: "win32", command: ["cmd", "/c", "start", ""] },
  ] as const)("is $name", ({ env, platform, command }) => {
    expect(browserCommand(env, platform)).toEqual(command);
  });
});
