import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Hooks } from "../../src/hosts/opencode/hooks.ts";
import type { HostAnswer, HostCalls } from "../../src/hosts/opencode/host-calls.ts";
import { createHooks, createOpencodeHost } from "../../src/hosts/opencode/server.ts";
import { combineFeatures, type FeatureFailure } from "../../src/plugin/combine-features.ts";
import { createPluginContext, type Feature, type PluginContext } from "../../src/plugin/context/context.ts";
import { readPluginOptions } from "../../src/plugin/context/options.ts";
import { type PluginEntry, readPluginJournal } from "../../src/plugin/stores/journal.ts";
import { removeFolder } from "./remove-folder.ts";

/** A context of the plugin in OpenCode, whose store is a folder of its own and whose host knows every session as a root. */
export function createTestContext(given: TestContextOptions = {}): TestContext {
  const { options = {}, store, answer, calls } = given;
  const folder = store ?? mkdtempSync(join(tmpdir(), "carryover-window-"));
  if (store === undefined) onTestFinished(() => removeFolder(folder));
  const logged: string[] = [];
  const host = createOpencodeHost({
    calls: calls ?? {
      call: async (_, path) => answer ?? { status: "ok", body: path === "/agent" ? AGENTS : {} },
    },
    directory: folder,
    env: {},
  });
  const context = createPluginContext({
    host: {
      ...host,
      screen: { ...host.screen, toast: (message) => void logged.push(message) },
      log: (_, message) => void logged.push(message),
    },
    options: readPluginOptions({ store: folder, ...options }).options,
    env: {},
  });
  const entries = async (rootSessionId: string): Promise<readonly PluginEntry[]> =>
    (await readPluginJournal({ folder: context.folders.journal, rootSessionId })).entries;
  return { context, folder, logged, entries };
}

const AGENTS = [{ name: "build", mode: "primary", permission: [] }];

export interface TestContextOptions {
  readonly options?: Readonly<Record<string, unknown>>;
  /** A folder that another context made; a new one when unset. */
  readonly store?: string;
  /** What the host says to every call. */
  readonly answer?: HostAnswer;
  /** A host that says more than one thing. */
  readonly calls?: HostCalls;
}

export interface TestContext {
  readonly context: PluginContext;
  readonly folder: string;
  readonly logged: readonly string[];
  /** What was written down so far. */
  entries(rootSessionId: string): Promise<readonly PluginEntry[]>;
}

/** Features as the hooks that OpenCode calls. */
export function hooksOf(
  features: readonly Feature[],
  onFailure: (failure: FeatureFailure) => void = () => {},
): Hooks {
  return createHooks(combineFeatures(features, onFailure), {
    calls: { call: async () => ({ status: "ok", body: {} }) },
    onFailure(hook, cause) {
      throw new Error(`${hook} failed`, { cause });
    },
  });
}
