import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Field, readInterface, root, withDefaultTags } from "./read-interface.ts";
import { SURFACES, type Surface } from "./surfaces.ts";

/** docs/settings.md, from the interfaces with the comments over their options, and the defaults of the code. */
export function settingsPage(): string {
  return `${[HEAD, ...SURFACES.map(section), ENVIRONMENT].join("\n\n")}\n`;
}

/** What the options of a surface lack: a sentence, a default, where the rule comes from, when to change it. */
export function problemsOf(surface: Surface): readonly string[] {
  return fieldsOf(surface).flatMap((field) => {
    const row = rowOf(surface, field);
    const at = `${surface.interface}.${field.name}`;
    return [
      ...(row.sentence === "" ? [`${at} has no sentence`] : []),
      ...(row.default === "" ? [`${at} has no default; write it into its comment after @default`] : []),
      ...((tagOfCode(surface, field) ?? field.tags.default) !== field.tags.default
        ? [`${at} has another default in its comment; run npm run docs:settings`]
        : []),
      ...(row.from === "" ? [`${at} does not say where it comes from; write it after @from`] : []),
      ...(row.when === "" ? [`${at} does not say when to change it; write it after @when`] : []),
    ];
  });
}

/** Writes the defaults of the code into the comments, since an editor shows these. */
export function writeDefaultTags(): void {
  for (const surface of SURFACES)
    for (const source of [surface, ...(surface.inherits ?? [])])
      writeFileSync(
        join(root, source.file),
        withDefaultTags(source.file, source.interface, (field) => tagOfCode(surface, field)),
      );
}

/** The options of a surface, with those that it inherits. */
export function fieldsOf(surface: Surface): readonly Field[] {
  const inherited = (surface.inherits ?? []).flatMap((parent) =>
    readInterface(parent.file, parent.interface),
  );
  const own = readInterface(surface.file, surface.interface);
  const omitted = new Set(surface.omits);
  const names = new Set([...own.map(({ name }) => name), ...omitted]);
  return [
    ...own.filter(({ name }) => !omitted.has(name)),
    ...inherited.filter(({ name }) => !names.has(name)),
  ];
}

const HEAD = `<!-- Written by \`npm run docs:settings\`; change the comments of the options, scripts/settings, or the code. -->
# Settings

Every option of every function, with its default. Where a rule comes from: *document 000 to 004* are the published rules that \`profile: "documented"\` follows, *decision* is a page of the repository, *this project* is neither. What cannot be used is refused by a \`ConfigurationError\` that lists all problems at once, with the path, the value, what is allowed and the nearest known name; nothing starts half configured. [session.md](session.md) says what a session does with its options.`;

const ENVIRONMENT = `## Environment

| variable | what it does | default | comes from |
|---|---|---|---|
| \`CARRYOVER_OUTPUT_TOKEN_MAX\` | The most that is kept free for the answer, in tokens, where \`overflow.outputCapTokens\` of the documented profile is not given: for \`carryover()\`, the plugin and \`carryover compact\`. | 32,000 | document 003 |
| \`XDG_STATE_HOME\` | Where \`createFileOutputStore\` keeps its files when no \`root\` is given: \`carryover\` in it. | \`~/.local/state\` | decision 0005 |
| \`XDG_DATA_HOME\` | Where the plugin keeps everything when no \`store\` is given: \`carryover\` in it. | \`~/.local/share\` | decision 0018 |`;

function section(surface: Surface): string {
  const rows = fieldsOf(surface).map((field) => rowOf(surface, field));
  return [
    `## ${surface.title}`,
    "",
    surface.about,
    "",
    "| option | what it does | default | unit | comes from | change it when |",
    "|---|---|---|---|---|---|",
    ...rows.map(
      (row) =>
        `| ${[`\`${row.name}\``, row.sentence, row.default, row.unit, row.from, row.when].map(cell).join(" | ")} |`,
    ),
  ].join("\n");
}

function rowOf(surface: Surface, field: Field) {
  const { name, sentence, tags, isOptional } = field;
  return {
    name,
    sentence,
    default: defaultOfCode(surface, field) || (tags.default ?? (isOptional ? "" : "must be given")),
    unit: tags.unit ?? surface.unit ?? unitOf(field),
    from: tags.from ?? surface.from ?? "",
    when: tags.when ?? surface.when ?? "",
  };
}

/** The default as the code has it; empty where that is no single value, so that words have to say it. */
function defaultOfCode({ defaults, documented }: Surface, { name }: Field): string {
  const [usual, other] = [defaults, documented].map((values) => {
    const value = (values as Readonly<Record<string, unknown>> | undefined)?.[name];
    return inLargeUnit(name, value) ?? show(value);
  });
  if (!usual || !other || other === usual) return usual ?? "";
  return `${usual}; documented: ${other}`;
}

/** What its comment has to say of it; undefined where words have to. */
function tagOfCode(surface: Surface, field: Field): string | undefined {
  return defaultOfCode(surface, field).replaceAll("`", "") || undefined;
}

/** Whole days, seconds or gibibytes, which are easier to read than milliseconds or bytes. */
function inLargeUnit(name: string, value: unknown): string | undefined {
  const fitting = LARGE_UNITS.find(
    ([end, size]) => end.test(name) && typeof value === "number" && value > 0 && value % size === 0,
  );
  return fitting && `${Number(value) / fitting[1]} ${fitting[2]}`;
}

const LARGE_UNITS: readonly (readonly [RegExp, number, string])[] = [
  [/Ms$/, 86_400_000, "days"],
  [/Ms$/, 1_000, "s"],
  [/Bytes$/, 2 ** 30, "GiB"],
];

/** A default as a reader writes it. */
function show(value: unknown): string {
  if (typeof value === "number")
    return value === Number.POSITIVE_INFINITY ? "no limit" : value.toLocaleString("en-US");
  if (typeof value === "string" || typeof value === "boolean") return `\`${value}\``;
  if (Array.isArray(value))
    return value.length === 0 ? "none" : value.map((item) => `\`${item}\``).join(", ");
  const entries = Object.entries(value ?? {});
  return entries.every(([, item]) => typeof item === "number")
    ? entries.map(([key, item]) => `${key}: ${show(item)}`).join(", ")
    : "";
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
