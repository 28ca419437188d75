import { type Command, InvalidArgumentError } from "commander";
import { nearest } from "../../text/check.ts";

/** What is wrong with each option on a command line; the parser itself stops at the first problem. */
export function findArgumentProblems(command: Command, args: readonly string[]): readonly string[] {
  const problems: string[] = [];
  const known = command.options.flatMap(({ long }) => (long ? [long] : []));
  for (let index = 0; index < args.length && args[index] !== "--"; index++) {
    const [, flag = "", inline] = /^(--[^=]+)(?:=(.*))?$/s.exec(args[index] ?? "") ?? [];
    if (flag === "--help" || flag === "--version") return [];
    const option = command.options.find(({ long }) => long === flag);
    if (option === undefined) {
      if (flag !== "") problems.push(`${flag} is not an option; ${nearest(flag, known)}`);
      continue;
    }
    if (!option.required) continue;
    const value = inline ?? args[++index];
    if (value === undefined) problems.push(`${flag} is missing its value; give ${option.flags}`);
    else
      problems.push(
        ...problemsOf(() => option.parseArg?.(value, undefined as never), `${flag} is "${value}"`),
      );
  }
  return problems;
}

function problemsOf(parse: () => unknown, what: string): readonly string[] {
  try {
    parse();
    return [];
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return [
      `${what}; ${error.message.replace(/\.$/, "").replace(/^[A-Z]/, (letter) => letter.toLowerCase())}`,
    ];
  }
}
