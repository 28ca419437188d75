import { isPlaceholder, isStockPassword } from "./placeholder-value.ts";
import { randomness } from "./randomness.ts";
import type { SecretKind } from "./secret-name.ts";

/** How a value is written: in quotes, as the whole rest of a settings line, or loose in code or prose. */
export type ValueForm = "quoted" | "line" | "loose";

/** Tells whether a value found under a secret-looking name can be the secret itself. */
export function isSecretValue(value: string, kind: SecretKind, form: ValueForm): boolean {
  if (value.length > MAX_SECRET_CHARS || isPlaceholder(value)) return false;
  if (kind === "password") return isPasswordValue(value, form);
  if (/[\s(]|^[a-z][a-z\d+.-]*:\/\//i.test(value)) return false;
  const minChars = kind === "secret" ? 10 : 12;
  return value.length >= minChars && isGenerated(value, form === "loose" ? 6 : 4);
}

/** Tells whether a machine made the text: enough of it, and nothing people would write. */
export function isGenerated(text: string, minRandomness: number): boolean {
  if (/^(?:0x)?[\da-f-]{16,}$/i.test(text)) return /\d/.test(text) && /[a-f]/i.test(text);
  const isMixed = /\d/.test(text) || (/[a-z]/.test(text) && /[A-Z]/.test(text));
  const score = randomness(text);
  return isMixed ? score >= minRandomness : text.length >= 16 && score >= minRandomness + 8;
}

const MAX_SECRET_CHARS = 4_096;

function isPasswordValue(value: string, form: ValueForm): boolean {
  if (form === "quoted" && APP_PASSWORD.test(value)) return true;
  if (value.length < 6 || /\s/.test(value)) return false;
  if (PASSWORD_HASH.test(value)) return true;
  if (isStockPassword(value)) return false;
  if (isGenerated(value, 6) && value.length >= 10) return true;
  if (isReference(value)) return false;
  const hasLetter = /[a-z]/i.test(value);
  if (form === "loose") return false;
  if (hasLetter && /\d/.test(value)) return true;
  if (hasLetter && /[!@#$%^&*+=?~|].*[^!?]/.test(value)) return true;
  return form === "line" && /^[a-z]{14,}$/.test(value);
}

// What mail providers hand out for programs: four groups of four letters.
const APP_PASSWORD = /^[a-z]{4}(?: [a-z]{4}){3}$/;
const PASSWORD_HASH = /^\$(?:2[abxy]|argon2(?:id?|d)|apr1|[1567y]|scrypt|pbkdf2[\w-]*)\$[^\s$]/;

function isReference(value: string): boolean {
  return (
    /^!|[()<>{}]|^[$@%&]\w+(?:->?|::|[.[]|$)|^[\w.+-]+@[a-z.-]+$/.test(value) ||
    /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*|\[\w+\])+$/.test(value) ||
    /^(?:\.{0,2}|~|[A-Za-z]:)[\\/]/.test(value) ||
    /^[a-z][a-z\d+.-]*:\/\//i.test(value) ||
    /^[a-z]+(?:[-_][a-z]+)+[-_]?\d*$/i.test(value) ||
    TECHNICAL_WORD.test(value)
  );
}

const TECHNICAL_WORD =
  /^(?:oauth[-_]?2?|argon2\w*|sha-?\d+|md5|pbkdf2\w*|bcrypt\w*|scrypt|base\d\d\w*|utf-?8|v\d[\d.]*|aes-?\d+\w*|[ehpr]s\d{3}|ed25519|x509|http\w*|\w*(?:array|buffer|int\d+|string|field|input|box|column)\d*|\d[\d.,:/-]*[a-z]{0,3})$/i;
