import { spawn } from "node:child_process";

/** Opens an address in the person's browser where there is one; says nothing when there is none, since the address is printed anyway. */
export function openBrowser(address: string, env: NodeJS.ProcessEnv = process.env): void {
  const command = browserCommand(env);
  if (command === undefined) return;
  const [program, ...args] = command;
  spawn(program, [...args, address], { detached: true, stdio: "ignore" })
    .on("error", () => {})
    .unref();
}

/** The program that opens addresses, with its arguments; undefined where nobody sits before a screen. */
export function browserCommand(
  { BROWSER, DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): readonly [string, ...string[]] | undefined {
  if (BROWSER) return [BROWSER];
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["cmd", "/c", "start", ""];
  return DISPLAY || WAYLAND_DISPLAY ? ["xdg-open"] : undefined;
}
