import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { chromium } from "playwright-core";
import { engineJob } from "../test/runtimes/engine-job.mjs";
import { root } from "./run.mjs";

// The same job in the same file of the engine: in this Node, in the next one, and in a browser.
const NODE_VERSION = "24.21.0";
const rig = process.env.CARRYOVER_RIG ?? `${root}.rig`;
const isCi = process.env.CI === "true";
let failures = 0;

const expected = await engineJob(await import(`${root}reports/runtimes.js`));
console.log(`Node ${process.versions.node}: ${expected.textChars} characters, ${expected.tokens} tokens`);

judge(`Node ${NODE_VERSION}`, inNextNode());
judge("Chromium", await inBrowser());
process.exit(failures === 0 ? 0 : 1);

function judge(name, result) {
  if (result === undefined) {
    console.log(`skipped: ${name} (could not be installed here)`);
    if (isCi) failures++;
  } else if (isDeepStrictEqual(result, expected)) {
    console.log(`${name}: the same`);
  } else {
    failures++;
    console.log(`${name}: DIFFERENT`, JSON.stringify(result), "instead of", JSON.stringify(expected));
  }
}

function inNextNode() {
  const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const folder = `${rig}/node-${NODE_VERSION}`;
  const node = `${folder}/node_modules/${name}/bin/node`;
  if (!existsSync(node)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/package.json`, JSON.stringify({ private: true }));
    const flags = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    spawnSync("npm", ["install", "--prefix", folder, ...flags, `${name}@${NODE_VERSION}`], {
      stdio: "inherit",
    });
  }
  if (!existsSync(node)) return undefined;
  const program = `import { engineJob } from ${JSON.stringify(`${root}test/runtimes/engine-job.mjs`)};
    const result = await engineJob(await import(${JSON.stringify(`${root}reports/runtimes.js`)}));
    console.log(JSON.stringify(result));`;
  const { stdout, stderr, status } = spawnSync(node, ["--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  return status === 0 ? JSON.parse(stdout) : { failed: stderr };
}

async function inBrowser() {
  const executablePath = findChromium();
  if (executablePath === undefined) return undefined;
  const files = {
    "/": ["text/html", "<!doctype html><title>engine</title>"],
    "/engine.js": ["text/javascript", readFileSync(`${root}reports/runtimes.js`)],
    "/job.js": ["text/javascript", readFileSync(`${root}test/runtimes/engine-job.mjs`)],
  };
  const server = createServer((request, response) => {
    const [type, body] = files[request.url] ?? ["text/plain", ""];
    response.setHeader("content-type", type).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    return await page.evaluate(async () => {
      const [{ engineJob: job }, engine] = await Promise.all([import("/job.js"), import("/engine.js")]);
      return job(engine);
    });
  } finally {
    await browser.close();
    server.close();
  }
}

/** Debian's browser; installed when it is missing and this is root on a system with apt. */
function findChromium() {
  const find = () => ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
  if (find() === undefined && process.getuid?.() === 0) {
    spawnSync("apt-get", ["update", "-q"], { stdio: "ignore" });
    spawnSync("apt-get", ["install", "-y", "-q", "chromium"], { stdio: "ignore" });
  }
  return find();
}
