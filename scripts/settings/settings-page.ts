import type { Group, Note } from "./group.ts";
import { type Field, readInterface } from "./read-interface.ts";
import { GROUPS } from "./table.ts";

/** docs/settings.md, from the sentences on the types, the defaults in the code, and the table. */
export function settingsPage(): string {
  return `${[HEAD, ...GROUPS.map(section), ENVIRONMENT].join("\n\n")}\n`;
}

/** What a group lacks or has too much: options without a note, notes without an option, options without a sentence. */
export function problemsOf(group: Group): readonly string[] {
  const fields = fieldsOf(group);
  const names = new Set(fields.map(({ name }) => name));
  const at = (name: string): string => `${group.interface}.${name}`;
  return [
    ...Object.keys(group.notes)
      .filter((name) => !names.has(name))
      .map((name) => `${at(name)} is no option any more`),
    ...fields.flatMap((field) => {
      const note = group.notes[field.name];
      if (note === undefined) return [`${at(field.name)} is missing in the table`];
      const row = rowOf(group, field, note);
      return [
        ...(field.sentence === "" ? [`${at(field.name)} has no sentence`] : []),
        ...(row.default === "" ? [`${at(field.name)} has no default`] : []),
        ...(defaultTag(row) !== field.default
          ? [`${at(field.name)} has the tag "@default ${field.default}"; it is "${defaultTag(row)}"`]
          : []),
        ...(row.from === "" ? [`${at(field.name)} does not say where it comes from`] : []),
        ...(row.when === "" ? [`${at(field.name)} does not say when to change it`] : []),
        ...(note.default !== undefined &&
        inCode(group.defaults, field.name) !== undefined &&
        typeof inCode(group.defaults, field.name) !== "object"
          ? [`${at(field.name)} has its default in words though the code has a value`]
          : []),
      ];
    }),
  ];
}

/** What an editor shows as the default: nothing where an option must be given, or where the page points elsewhere. */
export function defaultTag(row: Pick<Row, "default">): string {
  return /^must be given$|\b(?:above|below)\b/.test(row.default) ? "" : row.default.replaceAll("`", "");
}

/** The options of a group, with those that it inherits. */
export function fieldsOf(group: Group): readonly Field[] {
  const inherited = (group.inherits ?? []).flatMap((parent) => readInterface(parent.file, parent.interface));
  const own = readInterface(group.file, group.interface);
  const omitted = new Set(group.omits);
  const names = new Set([...own.map(({ name }) => name), ...omitted]);
  return [
    ...own.filter(({ name }) => !omitted.has(name)),
    ...inherited.filter(({ name }) => !names.has(name)),
  ];
}

const HEAD = `<!-- Written by \`npm run docs:settings\`; change the types, scripts/settings, or the code. -->
# Settings

Every option of every function, with its default. Where a rule comes from: *document 000 to 004* are the published rules that \`profile: "documented"\` follows, *decision* is a page of the repository, *this project* is neither. What cannot be used is refused by a \`ConfigurationError\` that lists all problems at once, with the path, the value, what is allowed and the nearest known name; nothing starts half configured. [session.md](session.md) says what a session does with its options.`;

const ENVIRONMENT = `## Environment

| variable | what it does | default | comes from |
|---|---|---|---|
| \`CARRYOVER_OUTPUT_TOKEN_MAX\` | The most that is kept free for the answer, in tokens, where \`overflow.outputCapTokens\` of the documented profile is not given: for \`carryover()\`, the plugin and \`carryover compact\`. | 32,000 | document 003 |
| \`XDG_STATE_HOME\` | Where \`createFileSpillStore\` keeps its files when no \`root\` is given: \`carryover\` in it. | \`~/.local/state\` | decision 0005 |
| \`XDG_DATA_HOME\` | Where the plugin keeps everything when no \`store\` is given: \`carryover\` in it. | \`~/.local/share\` | decision 0018 |`;

export interface Row extends Required<Omit<Note, "documented">> {
  readonly name: string;
  readonly sentence: string;
}

function section(group: Group): string {
  const rows = fieldsOf(group).map((field) => rowOf(group, field, group.notes[field.name] ?? {}));
  return [
    `## ${group.title}`,
    "",
    group.about,
    "",
    "| option | what it does | default | unit | comes from | change it when |",
    "|---|---|---|---|---|---|",
    ...rows.map(
      (row) =>
        `| ${[`\`${row.name}\``, row.sentence, row.default, row.unit, row.from, row.when].map(cell).join(" | ")} |`,
    ),
  ].join("\n");
}

export function rowOf(group: Group, field: Field, note: Note): Row {
  const inWords = note.default ?? "";
  const byCode = note.default === undefined ? show(inCode(group.defaults, field.name)) : inWords;
  const other =
    note.documented ?? (note.default === undefined ? show(inCode(group.documented, field.name)) : "");
  return {
    name: field.name,
    sentence: field.sentence,
    default: other === "" || other === byCode ? byCode : `${byCode}; documented: ${other}`,
    unit: note.unit ?? group.unit ?? unitOf(field),
    from: note.from ?? group.from ?? "",
    when: note.when ?? group.when ?? "",
  };
}

function inCode(defaults: object | undefined, name: string): unknown {
  return (defaults as Readonly<Record<string, unknown>> | undefined)?.[name];
}

/** A default as a reader writes it. */
function show(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "number")
    return value === Number.POSITIVE_INFINITY ? "no limit" : value.toLocaleString("en-US");
  if (Array.isArray(value))
    return value.length === 0 ? "none" : value.map((item) => `\`${item}\``).join(", ");
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    return entries.length === 0 ? "none" : entries.map(([key, item]) => `${key}: ${show(item)}`).join(", ");
  }
  return `\`${String(value)}\``;
}

const UNITS: readonly (readonly [RegExp, string])[] = [
  [/Tokens$/, "tokens"],
  [/Chars$/, "characters"],
  [/Bytes$/, "bytes"],
  [/Lines$/, "lines"],
  [/Ms$/, "milliseconds"],
  [/Min$/, "minutes"],
  [/[a-z]S$/, "seconds"],
  [/USD$/, "US dollars"],
];

function unitOf({ name, type }: Field): string {
  return /number/.test(type) || type.includes("Record<Tier")
    ? (UNITS.find(([end]) => end.test(name))?.[1] ?? "")
    : "";
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
