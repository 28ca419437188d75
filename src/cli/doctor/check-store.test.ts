import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { pluginFolders } from "../../plugin/stores/folders.ts";
import { checkStore } from "./check-store.ts";

const inside = (path: string) => {
  const { folder } = createTestContext();
  return { folder, folders: pluginFolders({ store: join(folder, path), env: {} }) };
};

it("finds nothing in a folder that can be made, nor in one that is ours alone", async () => {
  const { folders } = inside("not/yet");
  expect(await checkStore(folders.root, {})).toMatchObject([{ level: "ok" }]);
  mkdirSync(folders.root, { recursive: true, mode: 0o700 });
  expect(await checkStore(folders.root, {})).toMatchObject([
    { level: "ok" },
    { check: "records", level: "ok" },
  ]);
});

it("notes a folder that others can read", async () => {
  const { folders } = inside("open");
  mkdirSync(folders.root);
  chmodSync(folders.root, 0o755);
  expect(await checkStore(folders.root, {})).toMatchObject([{ level: "note" }, { level: "ok" }]);
});

it("finds a link in the place of the folder, and a parent that is a file", async () => {
  const link = inside("link");
  symlinkSync(link.folder, link.folders.root);
  expect(await checkStore(link.folders.root, {})).toMatchObject([{ level: "problem" }]);
  const below = inside("file/store");
  writeFileSync(join(below.folder, "file"), "");
  expect(await checkStore(below.folders.root, {})).toMatchObject([{ level: "problem" }]);
});

it("finds a damaged record of a fork", async () => {
  const { folders } = inside("damaged");
  mkdirSync(join(folders.forks, "project"), { recursive: true, mode: 0o700 });
  chmodSync(folders.root, 0o700);
  writeFileSync(join(folders.forks, "project", "fk_1.json"), "{", { mode: 0o600 });
  expect(await checkStore(folders.root, {})).toMatchObject([
    { level: "ok" },
    { check: "records", level: "problem" },
  ]);
});
