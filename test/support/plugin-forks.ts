import { createViewCapture } from "../../src/hosts/opencode/capture/view-capture.ts";
import { createForks, type Forks } from "../../src/hosts/opencode/forks/create-forks.ts";
import { createForkBonds } from "../../src/hosts/opencode/forks/fork-bonds.ts";
import type { PluginContext } from "../../src/hosts/opencode/plugin-context.ts";
import { createModelWindows } from "../../src/hosts/opencode/window/model-windows.ts";

/** All that the features about forks share, as one instance of the plugin makes it. */
export function createTestForks(context: PluginContext): Forks {
  return createForks({
    context,
    capture: createViewCapture(),
    views: context.stores.views,
    bonds: createForkBonds(context.calls),
    windows: createModelWindows(context.options),
  });
}
