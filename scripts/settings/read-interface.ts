import { readFileSync } from "node:fs";
import { join } from "node:path";

/** One field of an interface, as its declaration and the comment over it say. */
export interface Field {
  readonly name: string;
  readonly type: string;
  /** The comment as one line, without its tag; empty when there is none. */
  readonly sentence: string;
  /** What its tag `@default` says, for those who read it in an editor; empty when there is none. */
  readonly default: string;
}

/** The fields that an interface or a union of objects declares itself, in order; throws when it is not there. */
export function readInterface(file: string, name: string): readonly Field[] {
  const source = readFileSync(join(root, file), "utf8");
  const start = source.search(new RegExp(`^(?:export )?interface ${name}\\b`, "m"));
  if (start < 0) throw new Error(`${file} has no interface ${name}`);
  const open = source.indexOf("{\n", start);
  const body = source.slice(open + 2, source.indexOf("\n}", open - 1) + 1);
  const fields = body.matchAll(
    /(?:^ {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?^ {2}(?:readonly )?(\w+)(\??[:(][\s\S]*?);\n(?= {2}(?:\/\*\*|readonly|\w)|$)/gm,
  );
  return [...fields].map(([, comment = "", field = "", type = ""]) => ({
    name: field,
    type: oneLine(type.replace(/^\??:/, "")),
    sentence: oneLine(comment.replace(/^\s*\* ?/gm, " ").replace(/@default .*/s, "")),
    default: oneLine(/@default (.*)/s.exec(comment)?.[1] ?? ""),
  }));
}

/** The root of the repository, where npm and the tests run. */
export const root: string = process.cwd();

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** The comment over an interface or a type, as one line. */
export function sentenceOver(file: string, name: string): string {
  const declared = new RegExp(
    `/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\n(?:export )?(?:interface|type) ${name}\\b`,
  ).exec(readFileSync(join(root, file), "utf8"));
  return oneLine((declared?.[1] ?? "").replace(/^\s*\* ?/gm, " "));
}

/** What a union is made of: names of types as they are, words without quotes. */
export function readUnion(file: string, name: string): readonly string[] {
  const source = readFileSync(join(root, file), "utf8");
  const declared = new RegExp(`^(?:export )?type ${name} =([^;]*);`, "m").exec(source)?.[1];
  if (declared === undefined) throw new Error(`${file} has no type ${name}`);
  return declared
    .replace(/\/\*\*.*?\*\//gs, "")
    .split("|")
    .map((part) => part.trim().replace(/^"(.*)"$/, "$1"))
    .filter((part) => part !== "");
}
