import { DOTTED } from "./alphabet.ts";

/** A name that stands before a separator, and where it begins. */
export interface FoundName {
  readonly text: string;
  readonly startIndex: number;
}

/** Finds the name that a separator belongs to, if it can be that of a secret at all. */
export function nameBefore(text: string, separatorIndex: number): FoundName | undefined {
  const endIndex = endOfNameBefore(text, separatorIndex);
  const startIndex = startOfName(text, endIndex);
  if (startIndex === endIndex) return undefined;
  const word = text.slice(startIndex, endIndex);
  if (!WORTH_A_LOOK.test(word)) return undefined;
  const separator = text.charAt(separatorIndex);
  // Between two colons a word is part of a path such as a cloud resource name.
  if (separator === ":" && text.charAt(startIndex - 1) === ":") return undefined;
  if (TYPE_WORD.test(word)) return typedName(text, startIndex);
  if (word.toLowerCase() === "value") return pairedName(text, startIndex);
  const isTight = separator === "=" && endIndex === separatorIndex;
  return isTight ? { text: word, startIndex } : spacedName(text, { text: word, startIndex });
}

/** Gives where the name before a separator ends: blanks, quotes and closing marks between are passed over. */
export function endOfNameBefore(text: string, separatorIndex: number): number {
  const limitIndex = Math.max(0, separatorIndex - MAX_GAP_CHARS);
  let index = separatorIndex;
  while (index > limitIndex && " \t:+?!".includes(text.charAt(index - 1))) index--;
  while (index > limitIndex && "\"'`*\\]".includes(text.charAt(index - 1))) index--;
  return index;
}

/** Gives where the name that ends at the index begins. */
export function startOfName(text: string, endIndex: number): number {
  const limitIndex = Math.max(0, endIndex - MAX_NAME_CHARS);
  let index = endIndex;
  while (index > limitIndex && DOTTED.has(text.charCodeAt(index - 1))) index--;
  return index;
}

/** Puts the words in front of a noun that is a name only together with them, as in "Secret access key". */
export function spacedName(text: string, noun: FoundName): FoundName {
  if (!SPACED_NOUN.test(noun.text)) return noun;
  const before = text.slice(Math.max(0, noun.startIndex - MAX_GAP_CHARS), noun.startIndex);
  const words = /(?:[A-Za-z]+ ){1,2}$/.exec(before)?.[0] ?? "";
  return { text: words + noun.text, startIndex: noun.startIndex - words.length };
}

const MAX_NAME_CHARS = 80;
const MAX_GAP_CHARS = 40;

// Nearly every name of real text is dismissed by this one look.
const WORTH_A_LOOK =
  /pass|pwd|secret|token|key|auth|cred|bearer|psk|pw|pat|sen|kennw|wachtw|value|str|text|any|code|sig|sess|sid|mnemonic|phrase|words/i;
const TYPE_WORD = /^(?:string|str|text|any)$/i;
const SPACED_NOUN = /^(?:key|token|password|secret)$/i;

// "const apiKey: string = …" names its type last.
function typedName(text: string, typeIndex: number): FoundName | undefined {
  const gap = /[\s&]*$/.exec(text.slice(Math.max(0, typeIndex - 4), typeIndex))?.[0] ?? "";
  const colonIndex = typeIndex - gap.length - 1;
  if (text.charAt(colonIndex) !== ":") return undefined;
  const endIndex = endOfNameBefore(text, colonIndex);
  const startIndex = startOfName(text, endIndex);
  return { text: text.slice(startIndex, endIndex), startIndex };
}

// "name: DB_PASSWORD, value: …" keeps the name in the field before.
function pairedName(text: string, valueWordIndex: number): FoundName | undefined {
  const before = text.slice(Math.max(0, valueWordIndex - 120), valueWordIndex);
  const pair = /(?:name|key)\\?["']?\s*[:=]\s*\\?["']?([\w.-]+)\\?["']?[\s,;]*\\?["']?$/i.exec(before);
  return pair === null ? undefined : { text: pair[1] ?? "", startIndex: valueWordIndex };
}
