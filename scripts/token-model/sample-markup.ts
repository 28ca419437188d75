import { createNames } from "./identifiers.ts";
import { go, python, typescript } from "./sample-code.ts";
import { sentence } from "./sample-prose.ts";
import { capitalized, draw, HEX, repeat, type Sampler } from "./sampler.ts";

/** Markdown as READMEs and answers use it. */
export const markdown: Sampler = (random, lexicon) => {
  const code = createNames(random, lexicon);
  const say = (): string => sentence(random, lexicon);
  return random.pick([
    () => `${"#".repeat(1 + random.below(4))} ${capitalized(code.words(3))}\n\n${say()} ${say()}\n\n`,
    () => `${repeat(3, () => `- \`${code.camel()}\`: ${say()}`, "\n")}\n\n`,
    () => `${repeat(3, (index) => `${index + 1}. **${capitalized(code.word())}** – ${say()}`, "\n")}\n\n`,
    () => `${repeat(4, () => `* [${code.packageName()}](${code.url()}) - ${say()}`, "\n")}\n\n`,
    () =>
      `| ${code.word()} | ${code.word()} | ${code.word()} |\n|---|:---|---:|\n${repeat(4, () => `| \`${code.kebab()}\` | ${code.words(3)} | ${code.number()} |`, "\n")}\n\n`,
    () => `\`\`\`${random.pick(["ts", "js", "sh", ""])}\n${typescript(random, lexicon).trim()}\n\`\`\`\n\n`,
    () =>
      `\`\`\`bash\nnpm install --save-dev ${code.packageName()}\n$ ${code.word()} ${code.path()} --${code.kebab()}=${code.word()}\n\`\`\`\n\n`,
    () =>
      `[![${code.word()}](https://img.shields.io/${code.word()}/v/${code.packageName()}.svg?style=flat)](${code.url()})\n`,
    () => `> **Note**: ${say()} See [\`${code.camel()}\`](#${code.kebab()}).\n\n`,
    () => `<details>\n<summary>${code.words(3)}</summary>\n\n${say()}\n\n</details>\n\n`,
    () =>
      `## ${code.version()} (2025-0${1 + random.below(9)}-1${random.below(10)})\n\n### Bug Fixes\n\n${repeat(3, () => `* **${code.word()}:** ${code.words(6)} ([#${random.below(9999)}](${code.url()})) ([${draw(random, HEX, 7)}](${code.url()}))`, "\n")}\n\n`,
    () =>
      `- [${random.pick(["x", " "])}] ${say()}\n- ✅ ${code.words(5)}\n- ❌ ${code.words(4)} → \`${code.path()}\`\n\n`,
    () => `${repeat(2, say, " ")} ${random.pick(["🎉", "🚀", "⚠️", "👍", "💡"])}\n\n---\n\n`,
  ])();
};

/** Unified diffs of code. */
export const diff: Sampler = (random, lexicon) => {
  const { path } = createNames(random, lexicon);
  const name = path();
  const source = random.pick([typescript, python, go])(random, lexicon);
  const body = source
    .split("\n")
    .map((line) => random.pick(["+", "-", " ", " "]) + line)
    .join("\n");
  return `diff --git a/${name} b/${name}\nindex ${draw(random, HEX, 7)}..${draw(random, HEX, 7)} 100644\n--- a/${name}\n+++ b/${name}\n@@ -${random.below(90)},${random.below(20)} +${random.below(90)},${random.below(20)} @@\n${body}\n`;
};

/** What search and listing tools print: numbered lines, paths, matches. */
export const toolOutput: Sampler = (random, lexicon) => {
  const code = createNames(random, lexicon);
  const source = (): readonly string[] =>
    random.pick([typescript, python, go, markdown])(random, lexicon).split("\n");
  return random.pick([
    () =>
      source()
        .map((line, index) => `${String(index + 1 + random.below(3)).padStart(6)}\t${line}`)
        .join("\n"),
    () =>
      source()
        .map((line, index) => `${String(index + 80).padStart(5, "0")}| ${line}`)
        .join("\n"),
    () =>
      source()
        .map((line, index) => `${String(index + 10).padStart(5)}→${line}`)
        .join("\n"),
    () => repeat(6, () => `${code.path()}:${random.below(500)}:${code.camel()}(${code.camel()})\n`),
    () => repeat(8, () => `${code.path()}\n`),
    () =>
      repeat(
        6,
        () =>
          `-rw-r--r--  1 ${code.word()} ${code.word()} ${String(random.below(90000)).padStart(7)} Mar ${10 + random.below(18)} 12:${10 + random.below(49)} ${code.kebab()}.ts\n`,
      ),
    () =>
      repeat(
        3,
        () =>
          `$ ${code.word()} --${code.kebab()} ${code.path()} | ${code.word()} -n '${code.words(2)}' && ${code.word()}\n`,
      ),
    () => `<file path="${code.path()}">\n${source().join("\n")}\n</file>\n`,
    () =>
      JSON.stringify({
        file_path: code.path(),
        old_string: source().slice(0, 6).join("\n"),
        new_string: source().slice(0, 6).join("\n"),
      }),
    () =>
      repeat(
        5,
        () =>
          ` ${code.path()} | ${random.below(90)} ${"+".repeat(random.below(20))}${"-".repeat(random.below(12))}\n`,
      ),
    () =>
      repeat(
        5,
        () =>
          `│ ${code.word().padEnd(14)} │ ${code.number().padStart(8)} │\n├${"─".repeat(16)}┼${"─".repeat(10)}┤\n`,
      ),
    () =>
      repeat(
        6,
        () => `${code.packageName()}@${code.version()} ${"=".repeat(random.below(30))}> ${code.words(2)}\n`,
      ),
    () => `${random.pick(["-", "=", "*", "#", "~", "_"]).repeat(20 + random.below(70))}\n${code.words(4)}\n`,
  ])();
};

/** HTML, CSS, YAML, SQL and CSV. */
export const markup: Sampler = (random, lexicon) => {
  const code = createNames(random, lexicon);
  return random.pick([
    () =>
      `<div class="${code.kebab()} ${code.kebab()}" id="${code.camel()}">\n  <a href="${code.url()}" onclick="${code.camel()}()">${code.words(3)}</a>\n  <p>${sentence(random, lexicon)}</p>\n</div>\n`,
    () =>
      `.${code.kebab()} > .${code.kebab()}:hover {\n  ${code.kebab()}: ${random.below(90)}px solid #${draw(random, HEX, 6)};\n  margin: 0 auto ${random.below(9)}rem;\n}\n\n`,
    () =>
      `${code.snake()}:\n  ${code.kebab()}: ${code.words(2)}\n  - name: ${code.word()}\n    run: ${code.word()} ${code.path()}\n    ${code.kebab()}: "${code.version()}"\n`,
    () =>
      `SELECT ${code.snake()}, COUNT(*) AS ${code.snake()} FROM ${code.snake()} WHERE ${code.snake()} = '${code.word()}' AND ${code.snake()} > ${code.number()} ORDER BY ${code.snake()} DESC LIMIT ${random.below(99)};\n`,
    () =>
      repeat(
        5,
        () => `${random.below(9000)},${code.word()},${code.isoTime()},"${code.words(3)}",${code.number()}\n`,
      ),
    () =>
      `import { jsx as ${code.word()} } from "${code.packageName()}";\nreturn <${code.pascal()} ${code.camel()}={${code.camel()}} className="${code.kebab()} ${code.kebab()}">{${code.camel()}.${code.word()}}</${code.pascal()}>;\n`,
  ])();
};
