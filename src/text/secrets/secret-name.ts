/** What a name promises about its value; passwords may be short and made by people, the others are generated. */
export type SecretKind = "password" | "secret" | "key" | "token" | "credential";

/** Gives the kind of secret that a variable, field, header, flag or parameter of this name holds, if any. */
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

// A log or a JSON file repeats a few names thousands of times; the answer depends on nothing else.
const KNOWN_NAMES = new Map<string, SecretKind | "none">();
const MAX_KNOWN_NAMES = 1_000;
// A longer piece of a text may keep the whole of it in memory.
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

/** Gives the word for a kind that stands in a placeholder. */
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
  if (word === "pat") return isSetting ? "token" : undefined;
  const [, glued = "", noun] = /^(.*)(key|token)$/.exec(word) ?? [];
  const owner = glued === "" ? before : glued;
  if (noun === "token") return PLAIN_TOKEN_OWNER.test(owner) ? undefined : "token";
  if (noun === undefined || PLAIN_KEY_OWNER.test(owner)) return undefined;
  return SECRET_KEY_OWNER.test(owner) || (isSetting && owner !== "") ? "key" : undefined;
}

const PASSWORD_WORD =
  /^(?:\w*(?:password|passwd|passphrase|passwort|kennwort|contrasena|wachtwoord)|(?:db|my|pg|user|root|admin|smtp|sql|mysql|dba?)?pwd|pass|passcode|senha|psk)\d*$/;
const SECRET_WORD = /^\w*secret\d*$/;
const CREDENTIAL_WORD = /^(?:auth|\w*authorization|bearer|credentials?|creds?)$/;
const SECRET_KEY_OWNER =
  /^(?:\w*api|access|sharedaccess|\w*secret|\w*private|priv|auth|account|storage|shared|master|encrypt(?:ion|ed)?|crypto|sign(?:ing|ature)?|service|servicerole|role|app(?:lication)?|admin|licen[cs]e|subscription|deploy(?:ment)?|server|client|session|webhook|hmac|jwt|jwe|aes|rsa|ssh|gpg|pgp|wallet|recovery|root|functions?|write|ingest(?:ion)?|integration|consumer|merchant|gateway|security|symmetric|pre|cookie|rest|sdk|push|vapid|fcm|internal|personal|developer|instrumentation|bot|seed|mnemonic)$/;
const PLAIN_KEY_OWNER =
  /^(?:public|pub|publishable|primary|foreign|partition|sort|cache|object|index|unique|composite|map|row|column|shift|ctrl|alt|meta|arrow|hot|shortcut|idempotency|dedupe?|group|routing|registry|translation|lookup|field|item|list|query|config|state|theme|label|order|range|hash|natural|search|filter|tab|route|child|parent|node|property|feature|flag|setting|lock|topic|message|event|metric|context|locale|type|name|path|file|url|don|mon|tur|whis|hoc|joc|jer|s3|bucket|env|json|dict|enum|option|log|trace)$/;
const PLAIN_TOKEN_OWNER =
  /^(?:page|next|continuation|cursor|sync|pagination|start|end|stop|special|pad|eos|bos|mask|sep|cls|unk|cancel(?:l?ation)?|syntax|lexer|parser?|design|color|theme|per|max|min|total|input|output|prompt|completion|context|cached|reasoning|first|last|previous|prev|change|fencing|nft|css|text|word|keyword|open|close|eof|abort|skip|resume|delta|device|this|that|each|one|is|has|no|not|the|a)$/;

// A name that goes on with one of these is about a secret and does not hold it.
const DESCRIPTION =
  /^(?:ids?|args?|arguments?|through|thru|names?|types?|counts?|length|len|limits?|size|paths?|files?|filename|dir|directory|folder|ur[li]s?|endpoint|hosts?|sha\d*|md5|digest|checksum|fingerprint|thumbprint|expir(?:y|es|ed|ation)|exp|ttl|age|at|on|dates?|times?|timeout|created|updated|rotated|versions?|refs?|reference|arn|fields?|labels?|placeholder|prefix|suffix|headers?|envs?|var(?:iable)?s?|param(?:eter)?s?|regexp?|patterns?|formats?|polic(?:y|ies)|rules?|manager|providers?|stores?|class|func(?:tion)?|errors?|msg|messages?|hints?|title|desc(?:ription)?|enabled|disabled|required|status|states?|scopes?|usage|budget|index|position|kind|source|modes?|algorithm|alg|strategy|methods?|handlers?|callback|validat(?:or|ion)|generator|factory|helper|utils?|schema|model|views?|pages?|links?|buttons?|inputs?|forms?|component|styles?|icon|rotation|reset|changed?|strength|score|min|max|role|roles|user|username|email|window|ratio|rate|price|cost|per|used|left|remaining|available|estimate|estimated|total|sum|list|set|map|array|object|bytes|bits|chars|characters|stdin|prompt|usages?|use|reader|writer|parser|lexer|izer|stream|iterator|symbol|signature|vault|alias|group|queue|table|column|row|code|codes|doc|docs|comment|comments|needed|missing|invalid|valid|check|checker|checks|match|matches|manager|service|services|config|options?|settings?|info|metadata|events?|listeners?|press|pressed|down|up|board|stroke|frames?|words?|binding|bindings|combo|hash(?:es|ed|ers?)?)$/;
