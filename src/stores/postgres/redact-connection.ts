/** A function that redacts a connection string and its password in any text, also where only a part is quoted. */
export function createRedactConnection(connectionString: string | undefined): (text: string) => string {
  const secrets = connectionString === undefined ? [] : secretsOf(connectionString);
  return (text) => {
    let redacted = text;
    for (const secret of secrets) redacted = redacted.replaceAll(secret, REDACTED);
    return redacted.replace(URL_CREDENTIALS, `$1${REDACTED}@`);
  };
}

/** True for a connection string with a password. */
export function hasPassword(connectionString: string): boolean {
  return passwordsOf(connectionString).some((password) => password !== "");
}

const REDACTED = "[REDACTED]";

const URL_CREDENTIALS = /(\bpostgres(?:ql)?:\/\/)[^\s/@]{1,1000}@/gi;

/** Longest first, so that no part of a longer one is left. */
function secretsOf(connectionString: string): readonly string[] {
  const secrets = new Set([connectionString]);
  for (const part of passwordsOf(connectionString)) {
    secrets.add(part);
    secrets.add(decoded(part));
  }
  return [...secrets].filter((secret) => secret !== "").sort((left, right) => right.length - left.length);
}

/** The password before the host, and the one in the parameters. */
function passwordsOf(connectionString: string): readonly string[] {
  const afterScheme = connectionString.slice(connectionString.indexOf("://") + 3);
  const credentials = afterScheme.slice(0, Math.max(0, afterScheme.lastIndexOf("@")));
  const colon = credentials.indexOf(":");
  const parameter = /[?&]password=([^&]*)/i.exec(connectionString)?.[1];
  return [
    ...(colon < 0 ? [] : [credentials.slice(colon + 1)]),
    ...(parameter === undefined ? [] : [parameter]),
  ];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
