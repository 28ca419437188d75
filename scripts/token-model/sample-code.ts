import { createNames, type Names } from "./identifiers.ts";
import type { Lexicon } from "./lexicon.ts";
import type { Random } from "./random.ts";
import { sentence } from "./sample-prose.ts";
import { draw, LOWER, repeat, type Sampler } from "./sampler.ts";

/** TypeScript with imports, types, functions, classes, comments and tests. */
export const typescript: Sampler = (random, lexicon) => {
  const code = createNames(random, lexicon);
  const block = random.pick(BLOCKS);
  const indented = block({ random, lexicon, code });
  return `${random.chance(15) ? indented.replace(/ {2}/g, "\t") : random.chance(20) ? indented.replace(/ {2}/g, "    ") : indented}\n\n`;
};

/** The same code behind many levels of blanks. */
export const deepIndentation: Sampler = (random, lexicon) => {
  const depth = 8 + random.below(20);
  const unit = random.pick(["  ", "    ", "\t", "  "]);
  const shift = (line: string, index: number): string =>
    line === "" ? "" : unit.repeat(depth + ((index * 3) % 7)) + line;
  const source = random.chance(70) ? typescript(random, lexicon) : python(random, lexicon);
  return source.split("\n").map(shift).join("\n");
};

interface Scene {
  readonly random: Random;
  readonly lexicon: Lexicon;
  readonly code: Names;
}

const BLOCKS: readonly ((scene: Scene) => string)[] = [
  (scene) =>
    repeat(
      3 + scene.random.below(4),
      () => `${scene.random.pick(["export ", ""])}const ${scene.code.constant()} = ${value(scene)};`,
      "\n",
    ),
  ({ code, random }) =>
    repeat(
      2 + random.below(5),
      () =>
        random.pick([
          () => `import { ${code.camel()}, ${code.camel()} } from "./${code.kebab()}.ts";`,
          () => `import type { ${code.pascal()} } from "${code.packageName()}";`,
          () => `import * as ${code.word()} from "node:${code.word()}";`,
          () => `import ${code.pascal()} from '@/${code.word()}/${code.kebab()}'`,
          () => `export { ${code.pascal()}, type ${code.pascal()} } from "./${code.kebab()}";`,
          () => `const ${code.word()} = require('${code.packageName()}');`,
        ])(),
      "\n",
    ),
  (scene) => {
    const { code, random, lexicon } = scene;
    const fields = repeat(
      3 + random.below(5),
      () =>
        `${random.chance(25) ? `  /** ${sentence(random, lexicon)} */\n` : ""}  ${random.pick(["", "", "readonly "])}${code.camel()}${random.pick(["", "?"])}: ${type(scene)};`,
      "\n",
    );
    return `export ${random.pick(["interface", "interface", "type"])} ${code.pascal()}${random.pick([" {", "<T> {", ` extends ${code.pascal()} {`])}\n${fields}\n}`;
  },
  (scene) => {
    const { code, random, lexicon } = scene;
    const body = repeat(2 + random.below(6), () => statement(scene, "  "), "\n");
    return `${random.chance(60) ? `/** ${sentence(random, lexicon)} */\n` : ""}${random.pick(["export ", "", "export async ", "async "])}function ${code.camel()}(${parameters(scene)}): ${type(scene)} {\n${body}\n}`;
  },
  (scene) => {
    const { code, random } = scene;
    const methods = repeat(
      1 + random.below(3),
      () =>
        `  ${random.pick(["", "private ", "async ", "static ", "public "])}${code.camel()}(${parameters(scene)}) {\n${repeat(1 + random.below(4), () => statement(scene, "    "), "\n")}\n  }`,
      "\n\n",
    );
    return `export class ${code.pascal()}${random.pick(["", ` extends ${code.pascal()}`, ` implements ${code.pascal()}`])} {\n  private readonly ${code.camel()} = new Map<string, ${type(scene)}>();\n\n${methods}\n}`;
  },
  (scene) => {
    const { code, random, lexicon } = scene;
    return `describe("${code.camel()}", () => {\n${repeat(1 + random.below(2), () => `  it("${code.words(5)}", async () => {\n${repeat(2, () => statement(scene, "    "), "\n")}\n    expect(${call(scene)}).${random.pick(["toBe", "toEqual", "toHaveLength", "toContain"])}(${value(scene)});\n  });`, "\n\n")}\n});\n// ${sentence(random, lexicon)}`;
  },
  (scene) => {
    const { code, random } = scene;
    return `const ${random.pick([code.camel(), code.constant()])} = {\n${repeat(3 + random.below(5), () => `  ${random.pick([code.camel(), `"${code.kebab()}"`, `[${code.camel()}]`])}: ${value(scene)},`, "\n")}\n}${random.pick([";", " as const;", " satisfies Record<string, unknown>;"])}`;
  },
  (scene) => {
    const { code, random, lexicon } = scene;
    return `switch (${code.camel()}.${code.word()}) {\n${repeat(2 + random.below(3), () => `  case "${code.kebab()}":\n  ${statement(scene, "  ")}\n    break;`, "\n")}\n  default:\n    // ${sentence(random, lexicon)}\n    return ${value(scene)};\n}`;
  },
];

function parameters(scene: Scene): string {
  const { code, random } = scene;
  if (random.chance(15)) return `{ ${code.camel()}, ${code.camel()} }: ${code.pascal()}`;
  return repeat(random.below(4), () => `${code.camel()}: ${type(scene)}`, ", ");
}

function type(scene: Scene): string {
  const { code, random } = scene;
  return random.pick([
    () => "string",
    () => "number",
    () => "boolean",
    () => "void",
    () => "unknown",
    () => `Promise<${code.pascal()}>`,
    () => `${code.pascal()}[]`,
    () => `readonly ${code.pascal()}[]`,
    () => `Record<string, ${code.pascal()}>`,
    () => `"${code.word()}" | "${code.kebab()}"`,
    () => `${code.pascal()} | undefined`,
    () => `(${code.camel()}: ${code.pascal()}) => void`,
    () => code.pascal(),
  ])();
}

function value(scene: Scene): string {
  const { code, random } = scene;
  return random.pick([
    () => code.number(),
    () => `"${code.words(1 + random.below(4))}"`,
    () => `'${code.kebab()}'`,
    () => `\`${code.word()} \${${code.camel()}} ${code.word()}\``,
    () => "[]",
    () => "{}",
    () => random.pick(["true", "false", "null", "undefined"]),
    () => `[${code.camel()}, ${code.camel()}]`,
    () => `{ ${code.camel()}, ${code.camel()}: ${code.number()} }`,
    () => call(scene),
    () => `(${code.camel()}) => ${code.camel()}.${code.camel()}`,
    () => `${code.camel()} ?? ${code.number()}`,
    () => `/${code.pattern()}/`,
  ])();
}

function call(scene: Scene): string {
  const { code, random } = scene;
  return random.pick([
    () => `${code.camel()}(${code.camel()})`,
    () => `${code.camel()}.${code.camel()}(${code.camel()}, ${code.number()})`,
    () => `this.${code.camel()}.${code.word()}(${code.camel()})`,
    () => `await ${code.camel()}(${code.camel()})`,
    () => `new ${code.pascal()}(${code.camel()})`,
    () => `${code.camel()}.map((${code.word()}) => ${code.word()}.${code.camel()}).filter(Boolean)`,
    () => `Object.${random.pick(["keys", "entries", "values"])}(${code.camel()}).length`,
    () => `${code.camel()}[${code.camel()}]?.${code.camel()}`,
    () => `JSON.stringify(${code.camel()})`,
  ])();
}

function statement(scene: Scene, indent: string): string {
  const { code, random, lexicon } = scene;
  return random.pick([
    () => `${indent}const ${code.camel()} = ${value(scene)};`,
    () => `${indent}const ${code.camel()} = ${call(scene)};`,
    () => `${indent}let ${code.camel()}: ${type(scene)} = ${value(scene)};`,
    () => `${indent}const { ${code.camel()}, ${code.camel()} } = ${code.camel()};`,
    () => `${indent}if (${condition(scene)}) return ${value(scene)};`,
    () =>
      `${indent}if (${condition(scene)}) {\n${indent}  ${call(scene)};\n${indent}} else {\n${indent}  ${code.camel()} += ${code.number()};\n${indent}}`,
    () =>
      `${indent}for (const ${code.word()} of ${code.camel()}) {\n${statement(scene, `${indent}  `)}\n${indent}}`,
    () => `${indent}for (let i = 0; i < ${code.camel()}.length; i++) ${call(scene)};`,
    () => `${indent}return ${value(scene)};`,
    () => `${indent}${call(scene)};`,
    () => `${indent}throw new Error("${code.words(4)}");`,
    () => `${indent}// ${sentence(random, lexicon)}`,
    () =>
      `${indent}try {\n${statement(scene, `${indent}  `)}\n${indent}} catch (error) {\n${indent}  console.error("${code.words(3)}", error);\n${indent}}`,
    () => `${indent}this.${code.camel()} = ${value(scene)};`,
  ])();
}

function condition(scene: Scene): string {
  const { code, random } = scene;
  return random.pick([
    () => `!${code.camel()}`,
    () => `${code.camel()} === ${value(scene)}`,
    () => `${code.camel()}.length > ${code.number()}`,
    () => `typeof ${code.camel()} !== "string"`,
    () => `${code.camel()} && ${code.camel()}.${code.word()}`,
    () => `${code.camel()} instanceof ${code.pascal()} || ${code.camel()} == null`,
  ])();
}

/** JavaScript as a minifier leaves it. */
export const minified: Sampler = (random, lexicon) => {
  const code = createNames(random, lexicon);
  const name = (): string =>
    random.chance(75)
      ? draw(random, LOWER + LOWER.toUpperCase() + (random.chance(10) ? "_$" : ""), 1)
      : draw(random, LOWER, 2);
  const atom = (): string =>
    random.pick([
      name,
      name,
      () => `${name()}.${code.camel()}`,
      () => `${name()}.${code.camel()}(${name()})`,
      () => `${name()}(${name()},${name()})`,
      () => `"${code.kebab()}"`,
      () => `"${code.words(3)}"`,
      () => code.number(),
      () => `${name()}[${name()}]`,
      () => `this.${code.camel()}`,
      () => "!0",
      () => "!1",
      () => "void 0",
      () => "null",
      () => `{${code.camel()}:${name()},${code.camel()}:${name()}}`,
      () => `[${name()},${name()}]`,
      () => `function(${name()},${name()}){return ${name()}.${code.camel()}(${name()})}`,
      () => `${name()}=>${name()}.${code.word()}`,
      () => `(${name()},${name()})=>{${name()}.${code.camel()}=${name()}}`,
      () => `${name()}&&${name()}.${code.camel()}||""`,
      () => `/^${code.pattern()}$/g`,
      () => `\`${code.word()} \${${name()}}\``,
    ])();
  const piece = (): string =>
    random.pick([
      () => `var ${name()}=${atom()},${name()}=${atom()};`,
      () => `const ${name()}=${atom()};`,
      () => `let{${code.camel()}:${name()},${code.camel()}:${name()}}=${name()};`,
      () => `function ${name()}(${name()},${name()}){${atom()};return ${atom()}}`,
      () => `if(${atom()}===${atom()})return ${atom()};`,
      () => `${name()}.prototype.${code.camel()}=function(${name()}){${atom()}};`,
      () => `${atom()}?${atom()}:${atom()},`,
      () => `for(let ${name()}=0;${name()}<${name()}.length;${name()}++)${atom()};`,
      () => `try{${atom()}}catch(${name()}){${atom()}}`,
      () => `${name()}=${atom()},${name()}+=${atom()},`,
      () => `throw Error("${code.words(4)}");`,
      () => `(${atom()})||(${atom()});`,
      () =>
        `class ${name()} extends ${name()}{constructor(){super(...arguments),this.${code.camel()}=${atom()}}${code.camel()}(){return ${atom()}}}`,
      () => `switch(${name()}){case"${code.word()}":return ${atom()};default:break}`,
      () => `!function(){"use strict";${atom()}}();`,
      () => `async function ${name()}(){await ${atom()}}`,
      () => `Object.defineProperty(${name()},"${code.camel()}",{enumerable:!0,get:()=>${atom()}});`,
      () => `export{${name()} as ${code.camel()},${name()} as ${code.pascal()}};`,
    ])();
  return repeat(6, piece) + (random.chance(6) ? "\n" : "");
};

/** Python modules with docstrings and annotations. */
export const python: Sampler = (random, lexicon) => {
  const code = createNames(random, lexicon);
  return random.pick([
    () =>
      `from ${code.snake()}.${code.word()} import ${code.snake()}, ${code.pascal()}\nimport ${code.word()} as ${code.word()}\n\n`,
    () =>
      `class ${code.pascal()}(${code.pascal()}):\n    """${sentence(random, lexicon)}"""\n\n    def __init__(self, ${code.snake()}: str, ${code.snake()}=None):\n        self.${code.snake()} = ${code.snake()}\n        self._${code.snake()} = ${code.number()}\n\n`,
    () =>
      `def ${code.snake()}(${code.snake()}: int, *args, **kwargs) -> ${code.pascal()}:\n    """\n    ${sentence(random, lexicon)}\n    """\n    if not ${code.snake()}:\n        raise ValueError(f"${code.words(3)} {${code.word()}!r}")\n    for ${code.word()} in self.${code.snake()}.items():\n        ${code.snake()}[${code.word()}] = [x for x in ${code.word()} if x is not None]\n    return ${code.snake()}(${code.snake()}=${code.number()})\n\n`,
    () =>
      `@${code.word()}.${code.snake()}("${code.path()}")\nasync def ${code.snake()}():\n    # ${sentence(random, lexicon)}\n    with open(${code.snake()}, "rb") as f:\n        ${code.word()} = json.load(f)\n    print("${code.words(3)}: %s" % ${code.snake()})\n\n`,
  ])();
};

/** Go source, with tabs. */
export const go: Sampler = (random, lexicon) => {
  const code = createNames(random, lexicon);
  return random.pick([
    () =>
      `// ${code.pascal()} ${sentence(random, lexicon)}\nfunc (${draw(random, LOWER, 1)} *${code.pascal()}) ${code.pascal()}(ctx context.Context, ${code.camel()} string) (*${code.pascal()}, error) {\n\t${code.camel()}, err := ${code.word()}.${code.pascal()}(ctx, ${code.camel()})\n\tif err != nil {\n\t\treturn nil, fmt.Errorf("failed to ${code.words(2)}: %w", err)\n\t}\n\treturn ${code.camel()}, nil\n}\n\n`,
    () =>
      `type ${code.pascal()} struct {\n${repeat(4, () => `\t${code.pascal()} ${random.pick(["string", "int", "bool", "[]byte", "time.Time", `*${code.pascal()}`])} \`json:"${code.snake()}"\``, "\n")}\n}\n\n`,
    () =>
      `func Test${code.pascal()}(t *testing.T) {\n\tt.Parallel()\n\tfor _, tt := range []struct{ name, want string }{\n\t\t{"${code.words(2)}", "${code.word()}"},\n\t} {\n\t\tif got := ${code.camel()}(tt.name); got != tt.want {\n\t\t\tt.Errorf("${code.camel()}() = %v, want %v", got, tt.want)\n\t\t}\n\t}\n}\n\n`,
  ])();
};
