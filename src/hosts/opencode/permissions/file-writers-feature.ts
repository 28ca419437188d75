import { resolve } from "node:path";
import { currentRun, isLive } from "../../../tasks/fork-record.ts";
import { forkName } from "../../../tasks/fork-texts.ts";
import { type Feature, ToolRefusal } from "../combine-hooks.ts";
import type { Forks } from "../forks/create-forks.ts";
import { writtenFiles } from "../forks/written-files.ts";
import type { PluginContext } from "../plugin-context.ts";
import { createRecentMap } from "../recent-map.ts";

/** Tells whoever is about to write a file that a running fork is editing it: once, and the next call goes through. */
export function createFileWritersFeature({ context, forks }: FileWritersSetup): Feature {
  const writers = createRecentMap<string, string>(MAX_FILES);
  const warned = createRecentMap<string, true>(MAX_FILES);
  return {
    name: "file writers",
    hooks: {
      "tool.execute.before": async ({ tool, sessionID }, { args }) => {
        for (const file of writtenFiles(tool, args)) {
          const path = resolve(context.directory, file);
          const writer = writers.get(path);
          const other =
            writer === undefined || writer === sessionID ? undefined : forks.keeper.ofChild(writer);
          const warning = `${sessionID} ${writer} ${path}`;
          if (other !== undefined && isLive(currentRun(other)) && !warned.get(warning)) {
            warned.set(warning, true);
            throw new ToolRefusal(
              `${forkName(other)} is editing ${file} and still runs. Nothing was written. Read the file again, then either leave it to that fork or call again: the next call goes through.`,
            );
          }
          if (forks.keeper.ofChild(sessionID) !== undefined) writers.set(path, sessionID);
        }
      },
    },
  };
}

export interface FileWritersSetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}

/** Enough for all that forks write while they run; only those that run are warned of. */
const MAX_FILES = 4_096;
