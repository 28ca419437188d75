/** OpenCode's configuration for a project whose only provider is the scripted model server. */
export function scriptedConfig({ modelUrl, config = {} }: ScriptedConfigOptions): Record<string, unknown> {
  return {
    $schema: "https://opencode.ai/config.json",
    autoupdate: false,
    share: "disabled",
    lsp: false,
    formatter: false,
    enabled_providers: ["scripted", "scripted-anthropic"],
    model: `scripted/${LONG_WINDOW.modelID}`,
    small_model: `scripted/${LONG_WINDOW.modelID}`,
    permission: { "*": "allow" },
    provider: {
      scripted: {
        npm: "@ai-sdk/openai-compatible", // inside the binary: nothing is downloaded for it
        name: "Scripted",
        options: { baseURL: modelUrl, apiKey: "none" },
        models: {
          [LONG_WINDOW.modelID]: model({ contextTokens: 200_000, outputTokens: 32_000 }),
          [MIDDLE_WINDOW.modelID]: model({ contextTokens: 100_000, outputTokens: 16_000 }),
          [SHORT_WINDOW.modelID]: model({ contextTokens: 8_000, outputTokens: 2_000 }),
        },
      },
      "scripted-anthropic": {
        npm: "@ai-sdk/anthropic", // inside the binary too
        name: "Scripted, Anthropic's wire",
        options: { baseURL: modelUrl, apiKey: "none" },
        models: {
          [ANTHROPIC_WINDOW.modelID]: model({ contextTokens: 200_000, outputTokens: 32_000 }),
        },
      },
    },
    ...config,
  };
}

export interface ScriptedConfigOptions {
  readonly modelUrl: string;
  /** Top-level keys that replace ours. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export interface ModelChoice {
  readonly providerID: string;
  readonly modelID: string;
}

/** 168,000 usable tokens: nothing overflows by accident. */
export const LONG_WINDOW: ModelChoice = { providerID: "scripted", modelID: "long-window" };

/** 84,000 usable tokens: a long session fills it. */
export const MIDDLE_WINDOW: ModelChoice = { providerID: "scripted", modelID: "middle-window" };

/** 6,000 usable tokens: a reported usage of 6,000 makes OpenCode compact. */
export const SHORT_WINDOW: ModelChoice = { providerID: "scripted", modelID: "short-window" };

/** The long window again, over Anthropic's wire. */
export const ANTHROPIC_WINDOW: ModelChoice = {
  providerID: "scripted-anthropic",
  modelID: "claude-long-window",
};

interface Window {
  readonly contextTokens: number;
  readonly outputTokens: number;
}

function model({ contextTokens, outputTokens }: Window): Record<string, unknown> {
  return {
    name: `Scripted, ${contextTokens} tokens`,
    tool_call: true,
    reasoning: true,
    temperature: true,
    attachment: true,
    modalities: { input: ["text", "image"], output: ["text"] },
    limit: { context: contextTokens, output: outputTokens },
    cost: { input: 0, output: 0 },
  };
}
