import { asObject } from "../../text/json.ts";
import type { Fault, ProviderRule } from "../../transcript/format.ts";

/** One message of a provider's wire, reduced to what the rules are about. */
export interface WireMessage extends WirePlace {
  readonly side: "system" | "user" | "assistant";
  readonly blocks: readonly WireBlock[];
  /** Set when the wire says that generation was broken off here. */
  readonly isCutOff?: true;
}

/** One piece of a message; several wire items of one turn are blocks of one message. */
export interface WireBlock extends WirePlace {
  readonly type: "text" | "reasoning" | "call" | "result" | "media" | "opaque";
  /** Joins a call and its result. */
  readonly callId?: string;
  /** What the model reads of it: texts, names, inputs, outputs. */
  readonly read?: unknown;
  /** The block in the wire. */
  readonly wire: unknown;
}

/** A place in the wire. */
export interface WirePlace {
  readonly messageId: string;
  readonly partIndex?: number;
}

/** A fault of a rule at a place of the wire. */
export function faultAt(rule: ProviderRule, { messageId, partIndex }: WirePlace, text: string): Fault {
  return partIndex === undefined ? { rule, messageId, text } : { rule, messageId, partIndex, text };
}

/** The list of messages of a wire: the wire itself, or that field of a request; empty when neither is one. */
export function wireList(wire: unknown, field: string): readonly unknown[] {
  if (Array.isArray(wire)) return wire;
  const list = asObject(wire)[field];
  return Array.isArray(list) ? list : [];
}

/** Visits every string in a value, the names of fields too, until the visitor says true; says whether it did. Deep and circular values are safe. */
export function someString(value: unknown, visit: (text: string) => boolean): boolean {
  if (typeof value === "string") return visit(value);
  if (typeof value !== "object" || value === null) return false;
  const open: object[] = [value];
  let seen: Set<object> | undefined;
  const take = (item: unknown): boolean => {
    if (typeof item === "string") return visit(item);
    if (typeof item !== "object" || item === null) return false;
    seen ??= new Set([value]);
    if (seen.has(item)) return false;
    seen.add(item);
    open.push(item);
    return false;
  };
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    if (Array.isArray(current)) {
      for (const item of current) if (take(item)) return true;
    } else {
      for (const key of Object.keys(current)) {
        if (visit(key) || take((current as Readonly<Record<string, unknown>>)[key])) return true;
      }
    }
  }
  return false;
}
