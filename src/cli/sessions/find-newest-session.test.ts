import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { completedFork } from "../../../test/rig/forks/fork-samples.ts";
import { pluginFolders } from "../../plugin/stores/folders.ts";
import { openPluginStores } from "../../plugin/stores/open-stores.ts";
import { currentProcess } from "../../stores/files/process-identity.ts";
import { findNewestSession, findSessions } from "./find-newest-session.ts";
import { handoffFolder, writeNote } from "./notes.ts";
import { withSessionFile } from "./open-session.ts";
import { sessionFolders } from "./session-agents.ts";

/** A home with sessions of OpenCode 2, whose program answers as the real one does, under a name of our choice. */
function home(program: string) {
  const root = mkdtempSync(join(tmpdir(), "carryover-newest-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const data = join(root, "data");
  mkdirSync(join(data, "opencode"), { recursive: true });
  writeFileSync(join(data, "opencode", "opencode.db"), "");
  writeFileSync(
    join(root, program),
    `#!/bin/sh
case "$1" in
  api) echo '{"data":[{"id":"child"},{"id":"ses_1"}]}';;
  export) echo "{\\"info\\":{\\"id\\":\\"$3\\"},\\"messages\\":[]}";;
  *) exit 1;;
esac
`,
  );
  chmodSync(join(root, program), 0o755);
  const env = { HOME: root, XDG_DATA_HOME: data, PATH: ["/usr/bin", "/bin", root].join(delimiter) };
  vi.stubEnv("XDG_DATA_HOME", data);
  vi.stubEnv("HOME", root);
  onTestFinished(() => void vi.unstubAllEnvs());
  const folders = pluginFolders({ store: undefined, env });
  return { env, stores: openPluginStores({ store: undefined, folders, now: Date.now }) };
}

it.each(["opencode", "opencode2"])("is asked of the program, whichever is there: %s", async (program) => {
  const { env } = home(program);
  const { file, skipped } = await findNewestSession(env);
  expect(skipped).toEqual([]);
  expect(file.sessionId).toBe("child");
});

it("is no session of a fork, which has no parent in OpenCode 2", async () => {
  const { env, stores } = home("opencode2");
  const owner = { instanceId: "i1", process: currentProcess(), heartbeatAtMs: 1 };
  const fork = completedFork({ owner, rootSessionId: "ses_1", parentSessionId: "ses_1", atMs: 1 });
  await stores.forks("project").put({ id: fork.id, value: fork, expected: "missing" });
  const { file } = await findNewestSession(env);
  expect(file.sessionId).toBe("ses_1");
});

it("is no copy that OpenCode was given, until somebody has gone on with it", async () => {
  const { env } = home("opencode2");
  const folder = handoffFolder(env);
  mkdirSync(folder, { recursive: true });
  const given = { id: "1", path: join(folder, "1.json"), sizeBytes: 2, sessionId: "child", messages: 0 };
  await writeNote(folder, given);
  expect((await findNewestSession(env)).file.sessionId).toBe("ses_1");
  await writeNote(folder, { ...given, messages: 3 });
  expect((await findNewestSession(env)).file.sessionId).toBe("child");
});

it.each([
  [".claude/projects/p", "a\u2028b", "a\u2028b"],
  [".codex/sessions/2026", "rollout-2026-11-17T18-06-40-a\u2028b", "a\u2028b"],
  [".pi/agent/sessions/p", "2026_a\nb", "a\nb"],
])("has whatever name a file can have: %s", async (folder, stem, id) => {
  const root = mkdtempSync(join(tmpdir(), "carryover-newest-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, folder, `${stem}.jsonl`), "{}\n");
  const env = { HOME: root, XDG_DATA_HOME: join(root, "data") };
  expect(sessionFolders(env).flatMap(({ idOf }) => idOf(`${stem}.jsonl`) ?? [])).toContain(id);
  expect(await findSessions(env)).toMatchObject([{ place: join(root, folder, `${stem}.jsonl`) }]);
});

it("is one of another agent where OpenCode keeps only what it was given", async () => {
  const { env } = home("opencode2");
  const folder = handoffFolder(env);
  mkdirSync(folder, { recursive: true });
  for (const sessionId of ["child", "ses_1"])
    await writeNote(folder, {
      id: sessionId,
      path: join(folder, `${sessionId}.json`),
      sizeBytes: 2,
      sessionId,
      messages: 0,
    });
  const project = join(env.HOME, ".claude", "projects", "p");
  const path = join(project, "0c3182b1-f294-4a9e-8000-000000000000.jsonl");
  mkdirSync(project, { recursive: true });
  writeFileSync(
    path,
    `${JSON.stringify({ type: "user", uuid: "u", parentUuid: null, sessionId: "s", message: { role: "user", content: "Hi" } })}\n`,
  );
  utimesSync(path, 1_700_000_000, 1_700_000_000);
  expect(await findNewestSession(env)).toMatchObject({ found: expect.stringContaining(path), skipped: [] });
  const told = vi.spyOn(process.stderr, "write");
  expect(await withSessionFile(undefined, env, async ({ name }) => name)).toBe(path);
  expect(told).not.toHaveBeenCalled();
  told.mockRestore();
});

it("says which programs it looked for where there is none", async () => {
  const { env } = home("another");
  const { found, skipped } = await findNewestSession(env);
  expect(found).toBe("No session on this machine can be read; this is an example");
  expect(found.length, "one line of a terminal").toBeLessThanOrEqual(80);
  expect(skipped.join()).toContain("neither opencode nor opencode2");
});
