import { isPlaceholder, isStockPassword } from "./placeholder-value.ts";
import { randomness } from "./randomness.ts";
import type { SecretKind } from "./secret-name.ts";

/** How a value is written: in quotes, as a whole word or line of its own, or loose among code or prose. */
export type ValueForm = "quoted" | "line" | "loose";

/** Under what a value was found. */
export interface ValueContext {
  readonly kind: SecretKind;
  readonly form: ValueForm;
}

/** Tells whether a value found under a secret-looking name can be the secret itself. */
export function isSecretValue(value: string, { kind, form }: ValueContext): boolean {
  if (value.length > MAX_SECRET_CHARS || isPlaceholder(value) || isPath(value) || isAddress(value))
    return false;
  if (kind === "password") return isPasswordValue(value, form);
  const minChars = kind === "secret" ? 10 : 12;
  return value.length >= minChars && !/[\s(]/.test(value) && isGenerated(value, form === "loose" ? 6 : 4);
}

/** Tells whether a machine made the text: enough of it, and nothing people would write. */
export function isGenerated(text: string, minRandomness: number): boolean {
  if (/^(?:0x)?[\da-f-]{16,}$/i.test(text)) return /\d/.test(text) && /[a-f]/i.test(text);
  if (new Set(text.slice(0, 64)).size < MIN_DISTINCT) return false;
  const isMixed = /\d/.test(text) || (/[a-z]/.test(text) && /[A-Z]/.test(text));
  const score = randomness(text);
  return isMixed ? score >= minRandomness : text.length >= 16 && score >= minRandomness + ONE_CASE_MARGIN;
}

const MIN_DISTINCT = 6;
const MAX_SECRET_CHARS = 4_096;
// Words of languages the pair table does not know can look odd, but are letters of one case only.
const ONE_CASE_MARGIN = 8;

function isPasswordValue(value: string, form: ValueForm): boolean {
  if (form === "quoted" && APP_PASSWORD.test(value)) return true;
  if (value.length < 6 || /\s/.test(value) || isStockPassword(value)) return false;
  if (PASSWORD_HASH.test(value) || (value.length >= 10 && isGenerated(value, 6))) return true;
  if (form === "loose" || !/[a-z]/i.test(value) || isReference(value)) return false;
  if (/\d/.test(value) || /[!@#$%^&*+=?~|].*[^!?]/.test(value)) return true;
  return form === "line" && /^[a-z]{14,}$/.test(value);
}

// What mail providers hand out for programs: four groups of four letters.
const APP_PASSWORD = /^[a-z]{4}(?: [a-z]{4}){3}$/;
const PASSWORD_HASH = /^\$(?:2[abxy]|argon2(?:id?|d)|apr1|[1567y]|scrypt|pbkdf2[\w-]*)\$[^\s$]/;

function isPath(value: string): boolean {
  return /^(?:\.{0,2}|~|[A-Za-z]:)[\\/]/.test(value) && !/^[A-Za-z\d+/]{40,}={0,2}$/.test(value);
}

function isAddress(value: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(value) || /^[\w.+-]+@[a-z.-]+$/.test(value);
}

function isReference(value: string): boolean {
  return (
    /^!|[()<>{}]|^[$@%&]\w+(?:->?|::|[.[]|$)/.test(value) ||
    /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*|\[\w+\])+$/.test(value) ||
    /^[a-z]+(?:[-_][a-z]+)+[-_]?\d*$/i.test(value) ||
    TECHNICAL_WORD.test(value)
  );
}

const TECHNICAL_WORD =
  /^(?:oauth[-_]?2?|argon2\w*|sha-?\d+|md5|pbkdf2\w*|bcrypt\w*|scrypt|base\d\d\w*|utf-?8|v\d[\d.]*|aes-?\d+\w*|[ehpr]s\d{3}|ed25519|x509|http\w*|\w*(?:array|buffer|int\d+|string|field|input|box|column)\d*|\d[\d.,:/-]*[a-z]{0,3})$/i;
