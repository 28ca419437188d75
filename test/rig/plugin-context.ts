import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { HostAnswer } from "../../src/hosts/opencode/calls.ts";
import { createPluginContext, type PluginContext } from "../../src/plugin/context/context.ts";
import { readPluginOptions } from "../../src/plugin/context/options.ts";
import { type PluginEntry, readPluginJournal } from "../../src/plugin/stores/journal.ts";

/** A context of the plugin whose store is a folder of its own and whose host knows every session as a root. */
export function createTestContext({ options = {}, store, answer }: TestContextOptions = {}): TestContext {
  const folder = store ?? mkdtempSync(join(tmpdir(), "carryover-window-"));
  if (store === undefined)
    onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  const logged: string[] = [];
  const context = createPluginContext({
    options: readPluginOptions({ store: folder, ...options }).options,
    directory: folder,
    calls: { call: async () => answer ?? { status: "ok", body: {} } },
    notify: {
      toast: (message) => void logged.push(message),
      toastOnce: (message) => void logged.push(message),
      log: (_, message) => void logged.push(message),
    },
    env: {},
  });
  const entries = async (rootSessionId: string): Promise<readonly PluginEntry[]> =>
    (await readPluginJournal({ folder: context.folders.journal, rootSessionId })).entries;
  return { context, folder, logged, entries };
}

export interface TestContextOptions {
  readonly options?: Readonly<Record<string, unknown>>;
  /** A folder that another context made; a new one when unset. */
  readonly store?: string;
  /** What the host says to every call. */
  readonly answer?: HostAnswer;
}

export interface TestContext {
  readonly context: PluginContext;
  readonly folder: string;
  readonly logged: readonly string[];
  /** What was written down so far. */
  entries(rootSessionId: string): Promise<readonly PluginEntry[]>;
}
