import { type OpenClawPlugin, openclawPlugin } from "./hosts/openclaw/plugin.ts";

export type { OpenClawSettings } from "./hosts/openclaw/context-engine.ts";

const plugin: OpenClawPlugin = openclawPlugin;
export default plugin;
