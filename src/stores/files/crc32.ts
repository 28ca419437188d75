/** The CRC-32 that zip and PNG use, as an unsigned number. */
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
