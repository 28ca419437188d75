import { readFileSync } from "node:fs";
import { join } from "node:path";

/** One field of an interface, as its declaration and the comment over it say. */
export interface Field {
  readonly name: string;
  readonly type: string;
  readonly isOptional: boolean;
  /** The comment as one line, without its tags; empty when there is none. */
  readonly sentence: string;
  readonly tags: Readonly<Partial<Record<Tag, string>>>;
}

/** What a comment says beside its sentence: the default, its unit, where the rule comes from, when to change it. */
export type Tag = "default" | "unit" | "from" | "when";

/** The fields that an interface or a union of objects declares itself, in order; throws when it is not there. */
export function readInterface(file: string, name: string): readonly Field[] {
  return [...bodyOf(file, name).body.matchAll(FIELD)].map(([, comment = "", field = "", type = ""]) => {
    const [sentence = "", ...tags] = commentText(comment).split(/(?:^|\s)@(?=(?:default|unit|from|when) )/);
    return {
      name: field,
      type: oneLine(type.replace(/^\??:/, "")),
      isOptional: type.startsWith("?"),
      sentence,
      tags: Object.fromEntries(tags.map((tag) => [/^\w+/.exec(tag)?.[0], tag.replace(/^\w+ /, "")])),
    };
  });
}

/** The text of a file in which the fields of an interface have these tags `@default`, by name. */
export function withDefaultTags(
  file: string,
  name: string,
  tagOf: (field: Field) => string | undefined,
): string {
  const { source, body, start } = bodyOf(file, name);
  const fields = new Map(readInterface(file, name).map((field) => [field.name, field]));
  const written = body.replace(FIELD, (text: string, comment: string | undefined, fieldName: string) => {
    const field = fields.get(fieldName);
    const tag = field && tagOf(field);
    if (field === undefined || comment === undefined || tag === undefined || field.tags.default === tag)
      return text;
    const { default: _, ...others } = field.tags;
    return text.replace(comment, () => commentWith(field.sentence, { default: tag, ...others }));
  });
  return source.slice(0, start) + written + source.slice(start + body.length);
}

/** The root of the repository, where npm and the tests run. */
export const root: string = process.cwd();

/** The comment over an interface or a type, as one line. */
export function sentenceOver(file: string, name: string): string {
  const declared = new RegExp(
    `/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\n(?:export )?(?:interface|type) ${name}\\b`,
  ).exec(readFileSync(join(root, file), "utf8"));
  return commentText(declared?.[1] ?? "");
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

/** A field of an interface: what is between the ends of its comment, its name, its type. */
const FIELD =
  /(?:^ {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?^ {2}(?:readonly )?(\w+)(\??[:(][\s\S]*?);\n(?= {2}(?:\/\*\*|readonly|\w)|$)/gm;

function bodyOf(file: string, name: string): { source: string; body: string; start: number } {
  const source = readFileSync(join(root, file), "utf8");
  const declared = source.search(new RegExp(`^(?:export )?interface ${name}\\b`, "m"));
  if (declared < 0) throw new Error(`${file} has no interface ${name}`);
  const start = source.indexOf("{\n", declared) + 2;
  return { source, start, body: source.slice(start, source.indexOf("\n}", start - 2) + 1) };
}

/** What stands between the ends of a comment, in one line where that fits. */
function commentWith(sentence: string, tags: Field["tags"]): string {
  const parts = [sentence, ...Object.entries(tags).map(([tag, text]) => `@${tag} ${text}`)];
  const line = ` ${parts.join(" ")} `;
  return line.length <= MAX_LINE_CHARS ? line : `\n${parts.flatMap(wrapped).join("")}   `;
}

const MAX_LINE_CHARS = 110;

/** Lines of a comment; what is in backticks stays in one line. */
function wrapped(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.match(/(?:`[^`]*`|\S)+/g) ?? []) {
    const line = lines.at(-1);
    if (line === undefined || line.length + word.length > MAX_LINE_CHARS) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.map((line) => `   * ${line}\n`);
}

function commentText(comment: string): string {
  return oneLine(comment.replace(/^\s*\* ?/gm, " "));
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
