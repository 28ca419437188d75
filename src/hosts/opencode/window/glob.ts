/** True for a pin that names files: it has no space, and a star, a slash or an ending. */
export function isGlob(pin: string): boolean {
  return !/\s/.test(pin) && /[*/]|\.[A-Za-z0-9]{1,8}$/.test(pin);
}

/** Matches a path, absolute or not, whose end is what the pattern names; `*` stays within a folder, `**` does not. */
export function globToRegExp(glob: string): RegExp {
  const body = glob
    .replace(/^\.?\//, "")
    .split(/(\*\*\/|\*\*|\*|\?)/)
    .map((piece) => WILDCARDS[piece] ?? piece.replace(/[.+^${}()|[\]\\]/g, "\\$&"))
    .join("");
  return new RegExp(`(?:^|/)${body}$`);
}

const WILDCARDS: Readonly<Record<string, string>> = {
  "**/": "(?:[^/]+/)*",
  "**": ".*",
  "*": "[^/]*",
  "?": "[^/]",
};
