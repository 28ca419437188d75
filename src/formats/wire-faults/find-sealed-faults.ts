import { safeJson } from "../../text/safe-json.ts";
import type { Fault, ProviderRule } from "../../transcript/find-faults.ts";
import { faultAt, type WirePlace } from "./wire-message.ts";

/** A piece of a wire that its provider has signed or encrypted: it is sent as it came, or not at all. */
export interface Sealed extends WirePlace {
  readonly seal: string;
  /** Everything that the seal speaks for. */
  readonly wire: unknown;
}

export interface SealedEdit {
  readonly rule: ProviderRule;
  readonly before: readonly Sealed[];
  readonly after: readonly Sealed[];
}

/** The sealed pieces that an edit has changed, made up, or put into another order within their message. */
export function findSealedFaults({ rule, before, after }: SealedEdit): readonly Fault[] {
  const known = new Map<string, Map<string, Origin>>();
  for (const [index, { seal, wire, messageId }] of before.entries()) {
    const shapes = known.get(seal) ?? new Map<string, Origin>();
    known.set(seal, shapes);
    const shape = safeJson(wire);
    if (!shapes.has(shape)) shapes.set(shape, { messageId, index });
  }
  const faults: Fault[] = [];
  let last: Origin | undefined;
  for (const sealed of after) {
    const shapes = known.get(sealed.seal);
    const origin = shapes?.get(safeJson(sealed.wire));
    if (shapes === undefined)
      faults.push(faultAt(rule, sealed, "a seal that nothing had before: leave it out"));
    else if (origin === undefined)
      faults.push(faultAt(rule, sealed, "sealed content was changed: send it as it came"));
    else if (last?.messageId === origin.messageId && origin.index < last.index)
      faults.push(faultAt(rule, sealed, "sealed content changed places: keep its order"));
    last = origin ?? last;
  }
  return faults;
}

/** Where a sealed piece stood: within one message, pieces keep their order; a message may move. */
interface Origin {
  readonly messageId: string;
  readonly index: number;
}
