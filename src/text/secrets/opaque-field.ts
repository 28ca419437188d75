/**
 * Gives the index after the value of a field that providers must get back unchanged, when the colon belongs to one:
 * signatures and encrypted content are no secrets, and a changed one breaks the call.
 */
export function opaqueFieldEnd(text: string, colonIndex: number): number | undefined {
  if (text.charAt(colonIndex - 1) !== '"') return undefined;
  if (!OPAQUE_NAME.test(text.slice(Math.max(0, colonIndex - 40), colonIndex))) return undefined;
  OPAQUE_VALUE.lastIndex = colonIndex + 1;
  const value = OPAQUE_VALUE.exec(text);
  return value === null ? undefined : colonIndex + 1 + value[0].length;
}

const OPAQUE_NAME =
  /"(?:signature|thought_?signature|encrypted_?content|integrity|data|blob|reasoning_opaque|opaque)\\{0,3}"$/i;
const OPAQUE_VALUE = /\s{0,4}\\{0,3}"[\w+/=-]{48,}\\{0,3}"/y;
