import type { PluginContext } from "../../src/plugin/context/context.ts";
import { createForkLinks } from "../../src/plugin/forks/child.ts";
import { createForks, type Forks } from "../../src/plugin/forks/forks.ts";
import { createViewCapture } from "../../src/plugin/stores/views.ts";
import { createModelWindows } from "../../src/plugin/window/prune.ts";

/** All that the features about forks share, as one instance of the plugin makes it. */
export function createTestForks(context: PluginContext): Forks {
  return createForks({
    context,
    capture: createViewCapture(),
    views: context.stores.views,
    links: createForkLinks(context.host),
    windows: createModelWindows(context.options),
  });
}
