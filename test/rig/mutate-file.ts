import type { Sample } from "./cli-samples.ts";

/** Draws whole numbers below a limit, the same ones for the same seed. */
export function drawsOf(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) % limit;
  };
}

/** Values that JSON can hold and that code forgets: objects without a text of their own, wrong types, odd keys, deep nests. */
const ODD_VALUES: readonly (() => unknown)[] = [
  () => ({ toString: null }),
  () => ({ toString: "x", valueOf: null }),
  () => ({ toJSON: null, length: -1 }),
  () => JSON.parse('{"__proto__":{"toString":null},"constructor":null,"hasOwnProperty":1}'),
  () => JSON.parse('{"then":"x"}'),
  () => null,
  () => true,
  () => -1,
  () => 1e308,
  () => "",
  () => "\ud800",
  () => "__proto__",
  () => [],
  () => [null, [null, { type: { toString: null } }]],
  () => ({}),
  () => Array.from({ length: 300 }, () => 0).reduce<unknown>((inner) => [inner], 1),
];

/** Texts and lists of a file are cut to these: a fuzzer is after what holds them, and long ones made it many times slower. */
const SHORT_CHARS = 160;
const SHORT_LIST = 20;

/** Makes files of one: each seed replaces, leaves out or repeats one to three of its values, or cuts it in the middle of a line. */
export function mutationsOf({ text, fileName }: Pick<Sample, "text" | "fileName">): (seed: number) => string {
  const lines = fileName.endsWith(".jsonl") ? text.trim().split("\n", 2 * SHORT_LIST) : [text];
  const originals: readonly unknown[] = lines.map((line) => JSON.parse(line, shortened));
  return (seed) => {
    const draw = drawsOf(seed);
    const values = [...originals];
    for (let count = 1 + draw(3); count > 0; count--) {
      const index = draw(values.length);
      values[index] = mutateValue(values[index], draw);
    }
    const written = values.map((value) => JSON.stringify(value)).join("\n");
    if (draw(8) > 0) return written;
    const cut = draw(written.length);
    return written.slice(0, cut) + written.slice(cut + draw(40));
  };
}

function shortened(_: string, value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, SHORT_CHARS);
  return Array.isArray(value) ? value.slice(0, SHORT_LIST) : value;
}

type Draw = (limit: number) => number;

function mutateValue(value: unknown, draw: Draw): unknown {
  const keys = typeof value === "object" && value !== null ? Object.keys(value) : [];
  if (keys.length === 0 || draw(12) === 0) return ODD_VALUES[draw(ODD_VALUES.length)]?.();
  const key = keys[draw(keys.length)] ?? "";
  if (Array.isArray(value)) {
    const changed = [...value];
    if (draw(6) === 0) changed.splice(Number(key), draw(2), value[draw(value.length)]);
    else changed[Number(key)] = mutateValue(value[Number(key)], draw);
    return changed;
  }
  const fields = { ...(value as Record<string, unknown>) };
  if (draw(10) === 0) delete fields[key];
  else fields[key] = mutateValue(fields[key], draw);
  return fields;
}
