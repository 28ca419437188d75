/** A small plugin with one tool, in one module for both versions of OpenCode: each calls its own half. */
export const PROBE = `export default {
  id: "probe",
  server: async () => ({ tool: { probe: { description: "Probes", args: {}, execute: async () => "probed" } } }),
  async setup(ctx) {
    if (ctx.session?.hook === undefined) return;
    await ctx.tool.transform((tools) => tools.add({
      name: "probe",
      description: "Probes",
      input: { type: "object", properties: {} },
      options: { codemode: false },
      execute: async () => ({ content: "probed" }),
    }));
  },
};`;
