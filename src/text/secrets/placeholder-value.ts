/** Tells whether a value only stands in for a secret: a mask, a template slot, a reference, a word from documentation. */
export function isPlaceholder(value: string): boolean {
  return MASK.test(value) || SLOT.test(value) || STAND_IN.test(value);
}

/** Tells whether a password is one that only tutorials and tests use, where hiding it would hurt and help nobody. */
export function isStockPassword(value: string): boolean {
  return value.length <= MAX_STOCK_CHARS && STOCK_PASSWORD.test(value);
}

const MASK = /x{5,}|\*{3,}|•{2,}|\.{3,}|…|#{4,}|_{5,}|0{10,}|^(.)\1*$/i;

const SLOT =
  /&[lg]t;|\$\{[\w.]|\$\([a-z]+[ )]|\{\{|\}\}|<%|#\{|%\(|^\$\{?\w+\}?$|^\$env:|^%\w*%?$|^<[^<>]*>?$|^\[[^[\]]*\]?$|^\{[^{}]*\}?$|\[REDACTED:|^(?:process\.env|import\.meta|os\.environ|os\.getenv|env|secrets?|vars?|config|settings|options|opts|args|props|params|this|self|req|request|data)\b[.:[]|^(?:op:\/\/|vault:|ssm:|arn:|file:|keyring:|env:)/i;

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
