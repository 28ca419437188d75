/**
 * The plugin for both versions of OpenCode: `"plugin": ["carryover"]`. Version 1 calls `server`, version 2 `setup`; each
 * imports its half alone. 1.18 calls `setup` too, with a context of its own, for which it does nothing.
 */
const plugin: DualPlugin = {
  id: "carryover",
  async server(input, options) {
    const { createServer } = await import("./hosts/opencode/server.ts");
    return createServer(input, options);
  },
  async setup(context) {
    const { setUp } = await import("./hosts/opencode2/setup.ts");
    return setUp(context);
  },
};

interface DualPlugin {
  readonly id: string;
  server(...given: Parameters<typeof import("./hosts/opencode/server.ts")["createServer"]>): Promise<object>;
  setup(context: unknown): Promise<(() => Promise<void>) | undefined>;
}

export default plugin;
