/** Where the value of this colon's field ends when a provider must get it back unchanged, such as a signature or encrypted content. */
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
