import { readModel } from "../../agents/opencode/read-facts.ts";
import type { ModelFacts } from "../../plugin/host/host-parts.ts";
import { asArray, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import { listModels, type SetupContext } from "./abilities.ts";

/** What the host says about its models. */
export interface ModelList {
  of(model: unknown): Promise<ModelFacts>;
  /** To be asked for again: the list has changed. */
  refresh(): void;
}

export function createModelList(context: SetupContext): ModelList {
  let listed: Promise<readonly UnknownObject[]> | undefined;
  return {
    async of(model) {
      const named = modelOf(model);
      listed ??= listModels(context).catch(() => []);
      const found = (await listed).find((each) => each.id === named.id && each.providerID === named.provider);
      // The host knows its models only some time after it has loaded its plugins.
      if (found === undefined) listed = undefined;
      return { ...named, ...(found && readListed(found)) };
    },
    refresh() {
      listed = undefined;
    },
  };
}

/** Prices for longer contexts follow behind the first. */
function readListed(found: UnknownObject): Partial<ModelFacts> {
  const facts = readModel({ ...found, cost: asArray(found.cost)[0] }) ?? {};
  const { contextTokens = 0, outputTokens = 0 }: Partial<ModelFacts> = facts;
  const isWide = contextTokens > 2 * COMPACTION_BUFFER_TOKENS;
  return isWide ? { ...facts, outputTokens: Math.max(outputTokens, COMPACTION_BUFFER_TOKENS) } : facts;
}

/**
 * The host compacts when so much is left of a window, also where an answer may be shorter; what must happen before that goes
 * by it. Its setting `compaction.buffer` is not shown to plugins. A window that this would nearly fill is left as it is.
 */
const COMPACTION_BUFFER_TOKENS = 20_000;

export function modelOf(model: unknown): { readonly provider: string; readonly id: string } {
  const { id, providerID } = asObject(model);
  return { provider: asString(providerID) ?? "", id: asString(id) ?? "" };
}
