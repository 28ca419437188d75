import { type AiSdkWire, contentOf, providerBlockOf } from "../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { ProviderManagement } from "../session/window.ts";
import { asArray, asObject, asString } from "../text/unknown-value.ts";

/** Reads what the provider of a model does about the window by itself. */
interface ManagementReader {
  /** As the options of a request say, or as its answers have shown. */
  of(call: AskedOptions): ProviderManagement;
  /** Takes the metadata of an answer: options may also be set below the model, where they are not seen. */
  noteAnswer(providerMetadata: unknown): void;
}

/** A reader for the requests of one conversation. */
export function createManagementReader(model: {
  readonly provider: string;
  readonly modelId: string;
}): ManagementReader {
  const own = ownBlocks(model.provider, model.modelId);
  let asked: ProviderActs = "nothing";
  let shown: ProviderActs = "nothing";
  return {
    of({ providerOptions, headers }) {
      const options = asObject(providerOptions);
      if (own === undefined) return { acts: "nothing", reads: [] };
      if (own === "openai") {
        asked = openaiActs([options.openai, options.azure].map(asObject));
        return { acts: asked, reads: [own] };
      }
      asked = anthropicActs(asObject(options.anthropic));
      const acts = asked === "nothing" ? shown : asked;
      // Without the beta that a block came from the API knows no such block.
      const isAsked = acts === "compacts" || hasCompactionBeta(headers);
      return { acts, reads: isAsked ? [own] : [] };
    },

    noteAnswer(providerMetadata) {
      const reported = reportedActs(providerMetadata);
      if (asked === "nothing" && shown !== "compacts" && reported !== "nothing") shown = reported;
    },
  };
}

/** The fields of a request in which a provider is asked to manage the window. */
interface AskedOptions {
  readonly providerOptions?: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/**
 * The same where no options are to be seen, as in `prepareStep`: by the answers alone. A provider among whose answers
 * there is a compaction of its own is taken to go on.
 */
export function assumeManagement(model: unknown, wire: AiSdkWire, metadata: unknown): ProviderManagement {
  const { provider, modelId } =
    typeof model === "string" ? { provider: "gateway", modelId: model } : asObject(model);
  const own = ownBlocks(asString(provider) ?? "", asString(modelId) ?? "");
  if (own === undefined) return { acts: "nothing", reads: [] };
  const hasBlock = wire.some((message) => contentOf(message).some((part) => providerBlockOf(part) === own));
  return { acts: hasBlock ? "compacts" : reportedActs(metadata), reads: [own] };
}

type ProviderActs = NonNullable<ProviderManagement["acts"]>;

/** Whose compaction blocks a model reads: those that its own provider makes, by a protocol that has them. */
export function ownBlocks(provider: string, modelId: string): "anthropic" | "openai" | undefined {
  // A gateway passes options and blocks on.
  const isGateway = provider === "gateway";
  if (isGateway ? modelId.startsWith("anthropic/") : provider.includes("anthropic")) return "anthropic";
  const isResponses = /openai|azure/.test(provider) && provider.endsWith(".responses");
  return (isGateway ? modelId.startsWith("openai/") : isResponses) ? "openai" : undefined;
}

/** Anthropic lists the edits that it made to a request. */
function reportedActs(providerMetadata: unknown): ProviderActs {
  return actsOf(
    asArray(asObject(asObject(asObject(providerMetadata).anthropic).contextManagement).appliedEdits),
  );
}

function anthropicActs({ contextManagement, compaction }: Readonly<Record<string, unknown>>): ProviderActs {
  if (compaction !== undefined && compaction !== null) return "compacts";
  return actsOf(asArray(asObject(contextManagement).edits));
}

/** Clearing of thinking does not conflict with ours: we never clear thinking. */
function actsOf(edits: readonly unknown[]): ProviderActs {
  const types = edits.map((edit) => asString(asObject(edit).type) ?? "");
  if (types.some((type) => type.startsWith("compact_"))) return "compacts";
  return types.some((type) => type.startsWith("clear_tool_uses_")) ? "clears" : "nothing";
}

/** `truncation: "auto"` is none of them: it acts only on what would be refused, and leaves no trace. */
function openaiActs(options: readonly Readonly<Record<string, unknown>>[]): ProviderActs {
  const isCompacting = options.some(
    ({ contextManagement, compactionTrigger }) =>
      compactionTrigger === true ||
      asArray(contextManagement).some((entry) => asObject(entry).type === "compaction"),
  );
  return isCompacting ? "compacts" : "nothing";
}

function hasCompactionBeta(headers: AskedOptions["headers"]): boolean {
  return Object.entries(headers ?? {}).some(
    ([name, value]) => name.toLowerCase() === "anthropic-beta" && (value ?? "").includes("compact-"),
  );
}
