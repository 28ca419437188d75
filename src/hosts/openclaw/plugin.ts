import { join } from "node:path";
import { RECALL_DESCRIPTION, RECALL_SCHEMA } from "../../middleware/recall-tool.ts";
import { sessionShape } from "../../session/options.ts";
import { defaultStateFolder } from "../../stores/files/state-folder.ts";
import { check, goneRule, type Shape, text, throwProblems } from "../../text/check.ts";
import { asObject, type UnknownObject } from "../../text/unknown-value.ts";
import {
  type ContextEngine,
  createContextEngine,
  type OpenClawSettings,
  RECALL_TOOL,
} from "./context-engine.ts";
import { plainText } from "./messages.ts";

/** The plugin of OpenClaw: the context engine `carryover` for its slot, trimmed tool outputs, and the tool `recall`. */
export const openclawPlugin: OpenClawPlugin = {
  id: "carryover",
  name: "Carryover",
  description: "Keeps conversations within the window, and everything that left it within reach.",
  register(api) {
    const engine = engineOf(readSettings(api.pluginConfig));
    api.registerContextEngine("carryover", () => engine);
    api.registerTool(
      (context) => ({
        name: RECALL_TOOL,
        label: "Recall",
        description: RECALL_DESCRIPTION,
        parameters: RECALL_SCHEMA,
        // Notices name it: it must be there without a search for tools.
        catalogMode: "direct-only",
        async execute(_callId: string, input: unknown) {
          return { content: [{ type: "text", text: await engine.recall(context, input) }], details: {} };
        },
      }),
      { name: RECALL_TOOL },
    );
    api.registerAgentToolResultMiddleware(
      async ({ toolName, result: given }, context) => {
        const result = asObject(given);
        const output = toolName === RECALL_TOOL ? undefined : plainText(result.content);
        const shown = output === undefined ? undefined : await engine.trimOutput(context, toolName, output);
        if (shown === undefined) return undefined;
        return { result: { ...result, content: [{ type: "text", text: shown }] } };
      },
      { runtimes: ["openclaw", "codex"] },
    );
  },
};

function readSettings(config: unknown): OpenClawSettings {
  const settings = asObject(config) as OpenClawSettings;
  throwProblems(check(settingsShape(settings), settings));
  return settings;
}

function settingsShape(settings: OpenClawSettings): Shape<OpenClawSettings> {
  const { model: _, limits: __, summarizer: ___, onEvent: ____, ...more } = sessionShape(settings);
  const { stages: _____, estimator: ______, systemChars, toolsChars, recallTool, ...shared } = more;
  const byHost = { compaction: goneRule('give compactAt "never" where OpenClaw sums up') };
  return { ...shared, ...(settings.profile !== "documented" && byHost), folder: text };
}

/** One for each configuration: OpenClaw registers a plugin several times, and asks for an engine with every turn. */
function engineOf(settings: OpenClawSettings): ContextEngine {
  const name = JSON.stringify(settings);
  const folder = settings.folder ?? join(defaultStateFolder(), "openclaw");
  const engine = engines.get(name) ?? createContextEngine(folder, settings);
  engines.set(name, engine);
  return engine;
}

const engines = new Map<string, ContextEngine>();

/** The plugin as OpenClaw loads it; only what is used here has a type. */
export interface OpenClawPlugin {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  register(api: OpenClawApi): void;
}

/** What OpenClaw gives to a plugin. */
interface OpenClawApi {
  readonly pluginConfig?: unknown;
  registerContextEngine(id: string, create: () => ContextEngine): void;
  registerTool(create: (context: UnknownObject) => object, options: { readonly name: string }): void;
  registerAgentToolResultMiddleware(
    handler: (
      event: { readonly toolName: string; readonly result: unknown },
      context: UnknownObject,
    ) => Promise<object | undefined>,
    options: { readonly runtimes: readonly string[] },
  ): void;
}
