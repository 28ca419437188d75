import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { createTestContext } from "../../test/rig/plugin-context.ts";
import { createLoadedNotice, readLoadedNote, VERSION } from "./loaded-notice.ts";

const MESSAGE = { sessionId: "ses_1", messageId: "msg_1", from: "user" } as const;

it("is the version of the package", () => {
  const file = resolve(import.meta.dirname, "../../package.json");
  expect(VERSION).toBe((JSON.parse(readFileSync(file, "utf8")) as { version: string }).version);
});

it("tells a person once for each version, and the log at every start", async () => {
  const { context, folder: root } = createTestContext();
  const toasts: string[] = [];
  const logged: string[] = [];
  const notify = {
    ...context.notify,
    toastOnce: (text: string) => void toasts.push(text),
    log: (_level: unknown, text: string) => void logged.push(text),
  };
  for (const start of [1, 2]) {
    const notice = createLoadedNotice({ ...context, notify });
    await notice.onSignal?.({ type: "ready" });
    await notice.onUserMessage?.({ ...MESSAGE, from: "plugin" });
    if (start === 1) expect(toasts).toEqual([]);
    await notice.onUserMessage?.(MESSAGE);
    await notice.onUserMessage?.(MESSAGE);
    await expect.poll(() => toasts.length).toBe(1);
  }
  await new Promise((done) => setTimeout(done, 20));
  expect(toasts).toEqual([expect.stringContaining(`Carryover ${VERSION} is loaded`)]);
  expect(logged).toEqual([`Carryover ${VERSION} is loaded`, `Carryover ${VERSION} is loaded`]);
  expect(await readLoadedNote(root)).toMatchObject({ version: VERSION, toldVersion: VERSION });
});

it("tells nobody where nobody is, and nothing that it cannot remember", async () => {
  const { context } = createTestContext();
  const toasts: string[] = [];
  const notify = { ...context.notify, toastOnce: (text: string) => void toasts.push(text) };
  const host = { ...context.host, attendance: "headless" } as const;
  const folders = { ...context.folders, root: "/dev/null/nowhere" };
  for (const each of [
    { ...context, host },
    { ...context, folders },
  ]) {
    const notice = createLoadedNotice({ ...each, notify });
    await notice.onSignal?.({ type: "ready" });
    await notice.onUserMessage?.(MESSAGE);
  }
  await new Promise((done) => setTimeout(done, 20));
  expect(toasts).toEqual([]);
});
