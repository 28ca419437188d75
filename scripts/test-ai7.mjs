import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { root, run, step } from "./run.mjs";

// The end-to-end tests of the AI SDK once more, with its next version, which wants a newer Node: both come from the
// npm registry into a folder of their own, and what is tested is what `npm run build` made.
const NODE_VERSION = "24.21.0";
const PACKAGES = {
  ai: "7.0.169",
  "@ai-sdk/anthropic": "4.0.102",
  "@ai-sdk/openai": "4.0.114",
  "@ai-sdk/openai-compatible": "3.0.90",
  zod: "4.6.7",
};
const folder = `${process.env.CARRYOVER_RIG ?? `${root}.rig`}/ai7`;
const modules = `${folder}/node_modules`;
const platform = process.platform === "win32" ? "win" : process.platform;
const nodePackage = `node-${platform}-${process.arch}`;
const node = `${modules}/${nodePackage}/bin/node`;

if (!existsSync(`${folder}/installed`) && !install()) {
  console.log("skipped: the AI SDK 7 (its packages could not be installed: is the npm registry reachable?)");
  process.exit(process.env.CI === "true" ? 1 : 0);
}
step("build", process.execPath, ["scripts/build.mjs"]);
unpackPackage();

const alias = [
  ...Object.keys(PACKAGES).map((name) => ({ find: `^${name}$`, replacement: `${modules}/${name}` })),
  { find: "^(?:\\.\\./)+src/ai-sdk\\.ts$", replacement: `${root}dist/ai-sdk.js` },
];
const config = `${folder}/vitest.config.mjs`;
writeFileSync(
  config,
  `const alias = ${JSON.stringify(alias)}.map((each) => ({ ...each, find: new RegExp(each.find) }));
export default {
  root: ${JSON.stringify(root)},
  resolve: { alias },
  test: { include: ["test/ai-sdk/**/*.test.ts", "test/examples.test.ts", "test/agent/agent.test.ts"],
    exclude: ["test/ai-sdk/format-through-providers.test.ts"], maxWorkers: 2, testTimeout: 120_000 },
};
`,
);
console.log(`\n— the AI SDK ${PACKAGES.ai} on Node ${NODE_VERSION}`);
run(node, [`${root}node_modules/vitest/vitest.mjs`, "run", "--config", config, ...process.argv.slice(2)], {
  env: {
    ...process.env,
    CARRYOVER_AI_ALIAS: JSON.stringify(alias),
    CARRYOVER_EXAMPLES: `${modules}/carryover/examples`,
  },
});

// The types have to fit as well: the same program, checked against the packages of this version.
const program = `${folder}/types.ts`;
writeFileSync(
  program,
  `import { createOpenAI } from "@ai-sdk/openai";
import { generateText, ToolLoopAgent } from "ai";
import { carryover, compact } from "carryover/ai-sdk";

const { model, tools, prepareStep, session } = carryover(createOpenAI({})("gpt-5"), {
  onCompact: ({ state, messages }) => void [state, messages],
});
export const agent = new ToolLoopAgent({ model, tools, prepareStep });
export const answer = generateText({ model, tools, prepareStep, prompt: "hello" });
export const status = session.status();
const named = carryover("openai/gpt-5", { summarizer: "openai/gpt-5-mini", compactAt: { fraction: 0.7 } });
const { model: title } = named.for("title");
export const titled = generateText({ model: title, prompt: "hello" });
export const pressed = compact([{ role: "user", content: "hello" }], { model: createOpenAI({})("gpt-5") });
export const goesOn = pressed.then(({ messages }) => generateText({ model: named.model, messages }));
`,
);
writeFileSync(
  `${folder}/tsconfig.json`,
  JSON.stringify({
    compilerOptions: {
      strict: true,
      noEmit: true,
      module: "NodeNext",
      target: "ES2023",
      skipLibCheck: true,
      paths: { "carryover/ai-sdk": [`${root}dist/ai-sdk.d.ts`], ai: [`${modules}/ai/dist/index.d.ts`] },
    },
    files: [program],
  }),
);
step("the types of the AI SDK 7", "tsc", ["-p", `${folder}/tsconfig.json`]);

/** What would be published, beside these packages: its examples find this version of the AI SDK. */
function unpackPackage() {
  const own = `${modules}/carryover`;
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own, { recursive: true });
  const packed = spawnSync("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], {
    cwd: root,
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  const [{ filename }] = JSON.parse(packed.stdout);
  run("tar", ["-xzf", `${folder}/${filename}`, "--strip-components=1", "-C", own]);
}

/** Everything or nothing: the mark is written last. */
function install() {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/package.json`, JSON.stringify({ private: true, type: "module" }));
  const wanted = Object.entries({ ...PACKAGES, [nodePackage]: NODE_VERSION });
  const flags = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const specs = wanted.map(([name, version]) => `${name}@${version}`);
  const { status } = spawnSync("npm", ["install", "--prefix", folder, ...flags, ...specs], {
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status === 0) writeFileSync(`${folder}/installed`, specs.join("\n"));
  return status === 0;
}
