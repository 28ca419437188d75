import { createServer } from "./hosts/opencode/server.ts";

/** The OpenCode plugin: `"plugin": ["carryover"]`. */
const plugin: { readonly id: string; readonly server: typeof createServer } = {
  id: "carryover",
  server: createServer,
};

export default plugin;
