/** Encodes a line of JSON that ends with a checksum of everything before it. */
export function sealLine(fields: readonly LineField[]): Uint8Array {
  let text = '{"v":1';
  for (const [name, json] of fields) text += `,${JSON.stringify(name)}:${json}`;
  const body = Buffer.from(text);
  return Buffer.concat([body, Buffer.from(`,"c":${crc32(body)}}\n`)]);
}

/** The name of a field, and its value as JSON. */
export type LineField = readonly [name: string, json: string];

/** Decodes a line (without its newline) and verifies its checksum. */
export function openSealedLine(line: Uint8Array): SealedFields | LineDamage {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength);
  if (bytes.includes(0)) return { status: "damaged", code: "NUL", reason: "holds NUL bytes" };
  const sealAt = bytes.lastIndexOf(',"c":');
  const seal = sealAt < 0 ? null : /^,"c":([0-9]{1,10})\}$/.exec(bytes.toString("latin1", sealAt));
  if (!seal) return { status: "damaged", code: "SYNTAX", reason: "is not a whole line" };
  if (crc32(bytes.subarray(0, sealAt)) !== Number(seal[1])) {
    return { status: "damaged", code: "CHECKSUM", reason: "does not match its checksum" };
  }
  try {
    const fields: unknown = JSON.parse(bytes.toString("utf8"));
    if (typeof fields !== "object" || fields === null || !("v" in fields) || fields.v !== 1) {
      return { status: "damaged", code: "VERSION", reason: "was written by another version" };
    }
    return { status: "whole", fields: fields as Readonly<Record<string, unknown>> };
  } catch {
    return { status: "damaged", code: "SYNTAX", reason: "is not JSON" };
  }
}

/** The fields of a valid line. */
export interface SealedFields {
  readonly status: "whole";
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Why a line is invalid. */
export interface LineDamage {
  readonly status: "damaged";
  readonly code: "NUL" | "SYNTAX" | "CHECKSUM" | "VERSION";
  readonly reason: string;
}

/** CRC-32 as in zip and PNG. */
export function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (let index = 0; index < bytes.length; index += 1) {
    crc = (crc >>> 8) ^ (table[(crc ^ (bytes[index] ?? 0)) & 0xff] ?? 0);
  }
  return ~crc >>> 0;
}

const table: Int32Array = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});
