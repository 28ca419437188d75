/** A range of a text. */
export interface TextSpan {
  readonly startIndex: number;
  readonly endIndex: number;
}

/** Where a secret stands in a text, and its type as placeholders name it. */
export interface SecretSpan extends TextSpan {
  readonly type: string;
}

/** The text of a span. */
export function sliceSpan(text: string, span: TextSpan): string {
  return text.slice(span.startIndex, span.endIndex);
}

/** How a value is written: in quotes, as a word or line of its own, or among code or prose. */
export type ValueForm = "quoted" | "line" | "loose";

/** True when a value under a secret-looking name can be the secret itself, and not a path, an address, a reference or a placeholder. */
export function isSecretValue(
  value: string,
  { kind, form }: { readonly kind: SecretKind; readonly form: ValueForm },
): boolean {
  if (value.length > MAX_SECRET_CHARS || isPlaceholder(value) || isPath(value) || isAddress(value))
    return false;
  // A sentence in a script without blanks between its words.
  if (/[^\0-\u024f]{4}/.test(value)) return false;
  if (kind === "password") return isPasswordValue(value, form);
  const minChars = kind === "secret" ? 10 : 12;
  return (
    value.length >= minChars &&
    !/\s|^[A-Za-z]+(?:\.[A-Za-z]+)+$/.test(value) &&
    // In quotes a long value may hold a bracket; elsewhere it is a call.
    (!value.includes("(") || (form === "quoted" && value.length >= 40)) &&
    isGenerated(value, form === "loose" ? 6 : 4)
  );
}

/** True for text that a machine generated: long enough, and nothing that people would write. */
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
  if (PASSWORD_HASH.test(value) || isGeneratedPassword(value, form)) return true;
  if (form === "loose" || !/[a-z]/i.test(value) || isReference(value)) return false;
  if (form === "line" && EXPRESSION.test(value)) return false;
  if (/\d/.test(value) || /[!@#$%^&*+=?~|].*[^!?]/.test(value)) return true;
  return form === "line" && /^[a-z]{14,}$/.test(value);
}

/** True for a password with letters of both cases, digits and marks, in an order that code would not have. */
export function isMadePassword(value: string): boolean {
  return (
    value.length >= 8 &&
    isMixed(value) &&
    ![CODE, EXPRESSION].some((code) => code.test(value)) &&
    !isReference(value)
  );
}

const CODE = /[)\]}][.,;)\]}]|\[.*\]|\w\[[A-Za-z_$][\w$.]*$/;
// A call that continues after a blank, or names joined by an operator.
const EXPRESSION = /\w[({<](?:[a-z_$][\w$.]*,?|\d+,)$|^[a-z_$][\w$.]*(?:[|&=:<>]+[a-z_$][\w$.]*)+$/i;

/** True for a generated password. Outside code and prose, letters of both cases together with digits are enough. */
export function isGeneratedPassword(value: string, form: ValueForm): boolean {
  const isClear = form !== "loose" && isMixed(value);
  return value.length >= 10 && (isGenerated(value, isClear ? 2 : 6) || (isClear && TWO_NUMBERS.test(value)));
}

/** True for letters of both cases and digits in one text. */
export function isMixed(text: string): boolean {
  return /[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text);
}

// Excludes two names that both end in a number: code does not join those.
const TWO_NUMBERS = /^[a-z]+\d{2,}[^\w\s][A-Za-z]+\d{2,}$/;
// App passwords of mail providers: four groups of four letters.
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
    /^!|^[({<]|[([{<]$|[({<].*[)}>]|[$=-][({>]|^[$@%&]\w+(?:->?|::|[.[]|$)/.test(value) ||
    /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*|\[\w+\])+$/.test(value) ||
    /^[a-z]+(?:[-_][a-z]+)+[-_]?\d*$/i.test(value) ||
    TECHNICAL_WORD.test(value)
  );
}

const TECHNICAL_WORD =
  /^(?:oauth[-_]?2?|argon2\w*|sha-?\d+|md5|pbkdf2\w*|bcrypt\w*|scrypt|base\d\d\w*|utf-?8|v\d[\d.]*|aes-?\d+\w*|[ehpr]s\d{3}|ed25519|x509|http\w*|\w*(?:array|buffer|int\d+|string|field|input|box|column)\d*|\d[\d.,:/-]*[a-z]{0,3})$/i;

/**
 * The kind of secret that a name announces. Passwords may be short and chosen by people; the other kinds are
 * generated.
 */
export type SecretKind = "password" | "secret" | "key" | "token" | "credential";

/** The kind of secret that a variable, field, header, option or parameter of this name holds, if any. */
export function secretKindOf(name: string): SecretKind | undefined {
  if (!MAY_BE_SECRET.test(name)) return undefined;
  const known = KNOWN_NAMES.get(name);
  if (known !== undefined) return known === "none" ? undefined : known;
  const kind = readKind(name);
  if (name.length > MAX_KNOWN_CHARS) return kind;
  if (KNOWN_NAMES.size >= MAX_KNOWN_NAMES) KNOWN_NAMES.clear();
  KNOWN_NAMES.set(name, kind ?? "none");
  return kind;
}

// Cached: a log or a JSON file repeats a few names thousands of times.
const KNOWN_NAMES = new Map<string, SecretKind | "none">();
const MAX_KNOWN_NAMES = 1_000;
// Longer names are not cached: a slice can keep the whole text alive in memory.
const MAX_KNOWN_CHARS = 12;

function readKind(name: string): SecretKind | undefined {
  const words = wordsOf(name);
  const isSetting = /^[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$/.test(name);
  for (let index = words.length - 1; index >= 0; index--) {
    const kind = kindOfWord({ words, index, isSetting });
    if (kind === undefined) continue;
    return words.slice(index + 1).some((word) => DESCRIPTION.test(word)) ? undefined : kind;
  }
  return undefined;
}

/** How placeholders name a kind. */
export function typeOfKind(kind: SecretKind): string {
  return kind === "key" ? "api-key" : kind;
}

const MAY_BE_SECRET =
  /pass|pwd|secret|token|key|auth|cred|bearer|psk|pw|pat|contrasen|senha|kennwort|wachtwoord/i;

function wordsOf(name: string): readonly string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== "");
}

interface WordInName {
  readonly words: readonly string[];
  readonly index: number;
  readonly isSetting: boolean;
}

function kindOfWord({ words, index, isSetting }: WordInName): SecretKind | undefined {
  const word = (words[index] ?? "").replace(/(key|token|secret|password)s$/, "$1");
  const before = words[index - 1] ?? "";
  if (PASSWORD_WORD.test(word) || (word === "pw" && /^[a-z]{2,}$/.test(before))) return "password";
  if (SECRET_WORD.test(word)) return before === "no" || before === "is" ? undefined : "secret";
  if (word === "id" && before === "key" && words[index - 2] === "access") return "key";
  if (word === "id" && before === "secret") return "secret";
  if (word === "data" && before === "key") return "secret";
  if (CREDENTIAL_WORD.test(word)) return "credential";
  if (word === "pat") return isSetting || index > 1 ? "token" : undefined;
  const [, glued = "", noun] = /^(.*)(key|token)$/.exec(word) ?? [];
  const owner = glued === "" ? before : glued;
  if (noun === "token") return PLAIN_TOKEN_OWNER.test(owner) ? undefined : "token";
  if (noun === undefined || PLAIN_KEY_OWNER.test(owner)) return undefined;
  return SECRET_KEY_OWNER.test(owner) || (isSetting && owner !== "") ? "key" : undefined;
}

const PASSWORD_WORD =
  /^(?:\w*(?:password|passwd|passphrase|passwort|kennwort|contrasena|wachtwoord|requirepass|bindpw|rootpw)|(?:db|my|pg|user|root|admin|smtp|sql|mysql|dba?)?pwd|pass|passcode|senha|psk)\d*$/;
const SECRET_WORD = /^\w*secret\d*$/;
const CREDENTIAL_WORD = /^(?:auth|\w*authorization|bearer|credentials?|creds?)$/;
const SECRET_KEY_OWNER =
  /^(?:\w*api|access|sharedaccess|\w*secret|\w*private|priv|auth|account|storage|shared|master|encrypt(?:ion|ed)?|crypto|sign(?:ing|ature)?|service|servicerole|role|app(?:lication)?|admin|licen[cs]e|subscription|deploy(?:ment)?|server|client|session|webhook|hmac|jwt|jwe|aes|rsa|ssh|gpg|pgp|wallet|recovery|root|functions?|write|ingest(?:ion)?|integration|consumer|merchant|gateway|security|symmetric|pre|cookie|rest|sdk|push|vapid|fcm|internal|personal|developer|instrumentation|bot|seed|mnemonic)$/;
const PLAIN_KEY_OWNER =
  /^(?:public|pub|publishable|primary|foreign|partition|sort|cache|object|index|unique|composite|map|row|column|shift|ctrl|alt|meta|arrow|hot|shortcut|idempotency|dedupe?|group|routing|registry|translation|lookup|field|item|list|query|config|state|theme|label|order|range|hash|natural|search|filter|tab|route|child|parent|node|property|feature|flag|setting|lock|topic|message|event|metric|context|locale|type|name|path|file|url|don|mon|tur|whis|hoc|joc|jer|s3|bucket|env|json|dict|enum|option|log|trace)$/;
const PLAIN_TOKEN_OWNER =
  /^(?:page|next|continuation|cursor|sync|pagination|start|end|stop|special|pad|eos|bos|mask|sep|cls|unk|cancel(?:l?ation)?|syntax|lexer|parser?|design|color|theme|per|max|min|total|input|output|prompt|completion|context|cached|reasoning|first|last|previous|prev|change|fencing|nft|css|text|word|keyword|open|close|eof|abort|skip|resume|delta|device|this|that|each|one|is|has|no|not|the|a)$/;

// A name that ends with one of these describes a secret and does not hold it.
const DESCRIPTION =
  /^(?:ids?|args?|arguments?|through|thru|names?|types?|counts?|length|len|limits?|size|paths?|files?|filename|dir|directory|folder|ur[li]s?|endpoint|hosts?|sha\d*|md5|digest|checksum|fingerprint|thumbprint|expir(?:y|es|ed|ation)|exp|ttl|age|at|on|dates?|times?|timeout|created|updated|rotated|versions?|refs?|reference|arn|fields?|labels?|placeholder|prefix|suffix|headers?|envs?|var(?:iable)?s?|param(?:eter)?s?|regexp?|patterns?|formats?|polic(?:y|ies)|rules?|manager|providers?|stores?|class|func(?:tion)?|errors?|msg|messages?|hints?|title|desc(?:ription)?|enabled|disabled|required|status|states?|scopes?|budget|index|position|kind|source|modes?|algorithm|alg|strategy|methods?|handlers?|callback|validat(?:or|ion)|generator|factory|helper|utils?|schema|model|views?|pages?|links?|buttons?|inputs?|forms?|component|styles?|icon|rotation|reset|changed?|strength|score|min|max|roles?|user|username|email|window|ratio|rate|price|cost|per|used|left|remaining|available|estimate|estimated|total|sum|list|set|map|array|object|bytes|bits|chars|characters|stdin|prompt|usages?|use|reader|writer|parser|lexer|izer|stream|iterator|symbol|signature|vault|alias|group|queue|table|column|row|codes?|docs?|comments?|needed|missing|invalid|valid|checks?|checker|match(?:es)?|services?|config|options?|settings?|info|metadata|events?|listeners?|press|pressed|down|up|board|stroke|frames?|words?|bindings?|combo|hash(?:es|ed|ers?)?)$/;

/** True for a value that only stands in for a secret: a mask, a template slot, a reference, a word from documentation. */
export function isPlaceholder(value: string): boolean {
  return MASK.test(value) || SLOT.test(value) || STAND_IN.test(value);
}

/** True for a password of tutorials and tests, such as "changeme123": redacting it would only make the text harder to read. */
export function isStockPassword(value: string): boolean {
  return value.length <= MAX_STOCK_CHARS && STOCK_PASSWORD.test(value);
}

const MASK = /x{5,}|\*{3,}|•{2,}|\.{3,}|…|#{4,}|_{5,}|0{10,}|^(.)\1*$/i;
const SLOT =
  /&lt;.*&gt;|\$\{[\w.]|\$\([a-z]+[ )]|\{\{|\}\}|<%|#\{|%\(|^\$\{?\w+\}?$|^\$env:|^%\w*%?$|^<[^<>]*>?$|^\[[^[\]]*\]?$|^\{[^{}]*\}?$|\[REDACTED:|^(?:process\.env|import\.meta|os\.environ|os\.getenv|env|secrets?|vars?|config|settings|options|opts|args|props|params|this|self|req|request|data)\b[.:[]|^(?:op:\/\/|vault:|ssm:|arn:|file:|keyring:|env:)/i;

const STAND_IN = new RegExp(
  [
    "example|change[-_ ]?(?:me|it|this)|placeholder|redacted|replace[-_ ]?(?:me|with|this)|insert[-_ ]|dummy|not[-_]?a?[-_]?real",
    "your[-_ ]?(?:own|api|token|key|secret|pass|account|access|auth|client|user|org|project|bot|app|name|value|id)",
    "(?:^|[-_. ])(?:your|fake|mock|sample|todo|fixme|here|goes)(?:[-_. ]|$)",
    "^(?:test|fake|dummy|mock|sample|my|some|invalid|wrong|bad)[-_][a-z_-]*\\d?$",
    "[-_](?:here|placeholder|test|example)$",
    "^(?:sk|pk|rk|ghp|glpat|npm|hf|xoxb|xoxp)[-_]?(?:live|test|proj|ant)?[-_]?(?:abc|123)",
  ].join("|"),
  "i",
);

const MAX_STOCK_CHARS = 40;

const STOCK_PASSWORD = new RegExp(
  "^(?:(?:my|the|your|some|test|user|admin|db|new|old|super|top|plain|p)[-_. ]?)*" +
    "(?:pass(?:word|wd|phrase|code)?|p[a@]ssw[o0]rd|pwd|pw|secret|test(?:ing|er|s)?|admin(?:istrator)?|root|user(?:name)?|guest|foo(?:bar)?|bar|baz|" +
    "abc(?:def(?:g(?:hi)?)?)?|asdf(?:gh)?|qwerty|demo|default|login|key|token|value|string|text|hello|hidden|letmein|welcome|" +
    "postgres|mysql|redis|mongo|minio(?:admin)?|rabbitmq|sa|none|null|undefined|empty|required|optional|true|false)?" +
    "[-_.!@#$]*\\d{0,10}[-_.!@#$]*$",
  "i",
);

/**
 * How random a text looks, in bits. Words, identifiers and versions stay below zero; generated text gains about two
 * for each character.
 */
export function randomness(text: string): number {
  let score = 0;
  let previousCode = 0;
  let previousClass = SEPARATOR;
  let previousStep = Number.NaN;
  let lowerRun = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const step = code - previousCode;
    const currentClass = classOf(code);
    if (currentClass !== SEPARATOR && previousClass !== SEPARATOR) {
      if (step === previousStep && (step === 0 || step === 1)) score -= SEQUENCE_DISCOUNT;
      else if ((currentClass === DIGIT) !== (previousClass === DIGIT)) score += DIGIT_CHANGE;
      else if (previousClass === LOWER && currentClass === UPPER) score += lowerRun === 1 ? SHORT_HUMP : HUMP;
      else if (currentClass !== DIGIT) score += pairSurprise(previousCode, code);
    }
    lowerRun = currentClass === LOWER ? (previousClass === LOWER ? lowerRun + 1 : 1) : 0;
    previousClass = currentClass;
    previousCode = code;
    previousStep = step;
  }
  return score;
}

const SEPARATOR = 0;
const DIGIT = 1;
const LOWER = 2;
const UPPER = 3;
const DIGIT_CHANGE = 1.5;
const HUMP = 0.5;
const SHORT_HUMP = 2;
const SEQUENCE_DISCOUNT = 2;

function classOf(code: number): number {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  if (code >= 48 && code <= 57) return DIGIT;
  return SEPARATOR;
}

function pairSurprise(firstCode: number, secondCode: number): number {
  const pair = ((firstCode | 32) - 97) * 27 + (secondCode | 32) - 96;
  return PAIR_SURPRISE.charCodeAt(pair) - ZERO_SURPRISE;
}

const ZERO_SURPRISE = "e".charCodeAt(0);

// Bits of surprise of each letter pair, compared with random letters, in program words and documentation. One row per
// first letter, one column per second letter; "f" is one bit rarer, "d" one bit more common.
const PAIR_SURPRISE = `
dddefgeiehfdediefddcfghhfi
ceffdgggdggcgidggeefdiijfi
chfhciidejdehichgefcejijgj
dfgebfgichifhhdheeegeihhgj
egdcfffhgiieechfgccehfhehj
dffgcchjbjidhgcjieffeiijfj
dgggbfeddjidfdefhdefeihjgi
chhfbjijciigfgcihdfdfjijfj
dfdeeeejijieebdfhfddjejgjf
cefdcghhehghjiehfgbjdjhjij
cgffbgfgcjffhfgffgcffigjhj
cggebghicjidiidghieeegjjdj
cehgbiijcjieehdcjhfgejjjhj
dgdddfcheigggfegjhdcffijhj
ffeehgfjfhgddbfejceedfehij
cihgciheejidhicdjcedeijjgj
cdfhdfgjfejghfhjcffhbgigff
cgffbgfjcjggefdhieddfgijfj
eiehcghecjgfggedhhdcdfhgfj
djfhbhiebjjgfidgjddeejhjej
deefdffiejjddcgdjcddijjhjj
cghiajdicijhijeijiggiijjij
cgggchgdcjhfjddgjddfhjghii
ehdgcfjgcijhegfcggfbgjiggj
efdgdffidjiedcebjgdehjfhih
cfhhahjgdghggjeggjjjijgjfe`;

/** Decodes base64 of plain text; undefined when it is not base64 or does not hold plain text. */
export function decodeBase64Text(encoded: string): string | undefined {
  const body = encoded
    .replace(/=+$|[\r\n]/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
  if (!/^[A-Za-z\d+/]*$/.test(body)) return undefined;
  const text = atob(body.length % 4 === 1 ? body.slice(0, -1) : body);
  return /^[\t\n\r -~]*$/.test(text) ? text : undefined;
}

/** Finds the secrets of a text as it stands, without another look at how it is written. */
export type Scan = (text: string) => readonly SecretSpan[];
