import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { askHost } from "./ask-host.ts";
import { diagnoseOpencode } from "./opencode.ts";

const root = mkdtempSync(join(tmpdir(), "carryover-ask-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const TOOLS = ["bash", "fork", "fork_result", "fork_cancel", "recall"];
const rule = (permission: string, action: string, pattern = "*"): object => ({ permission, action, pattern });

/** A program that serves these answers as OpenCode does. */
function program(answers: Answers): string {
  const server = join(root, `${Math.random()}.mjs`);
  writeFileSync(
    server,
    `import { createServer } from "node:http";
const { status = 200, tools, agents } = ${JSON.stringify(answers)};
createServer((request, response) => {
  const isTools = request.url.startsWith("/experimental/tool/ids");
  response.writeHead(isTools ? status : 200);
  response.end(JSON.stringify(isTools ? tools : agents));
}).listen(process.argv[process.argv.indexOf("--port") + 1], "127.0.0.1", function () {
  console.log("opencode server listening on http://127.0.0.1:" + this.address().port);
});`,
  );
  const file = join(root, `opencode-${Math.random()}`);
  const node = JSON.stringify(process.execPath);
  writeFileSync(
    file,
    `#!/bin/sh\ncase "$1" in --version) echo 1.18.33;; serve) exec ${node} "${server}" "$@";; run) exit 3;; *) exec ${node} "$@";; esac\n`,
  );
  chmodSync(file, 0o755);
  return file;
}

interface Answers {
  readonly status?: number;
  readonly tools: unknown;
  readonly agents?: readonly object[];
}

const BUILD = { name: "build", mode: "primary", permission: [rule("*", "allow"), rule("fork", "deny")] };

it("reads which tools there are, and which agents do not see them", async () => {
  const agents = [
    BUILD,
    {
      name: "plan",
      mode: "primary",
      permission: [rule("*", "deny"), rule("recall", "allow"), rule("fork*", "ask")],
    },
    { name: "trimmed", mode: "all", permission: [rule("recall", "deny", "**")] },
    { name: "helper", mode: "subagent", permission: [rule("*", "deny")] },
    { name: "title", mode: "primary", hidden: true, permission: [rule("*", "deny")] },
  ];
  const answer = await askHost({
    binary: program({ tools: TOOLS, agents }),
    directory: root,
    env: process.env,
    host: "opencode",
  });
  expect(answer).toMatchObject({
    status: "answered",
    tools: TOOLS,
    agents: [
      { name: "build", refused: ["fork"] },
      { name: "plan", refused: [] },
      { name: "trimmed", refused: [] },
    ],
  });
});

it.each<{ name: string; answers: Answers; problem: RegExp }>([
  { name: "has no tool of ours", answers: { tools: ["bash"] }, problem: /does not have fork, fork_result/ },
  {
    name: "refuses its configuration",
    answers: {
      status: 400,
      tools: {
        name: "ConfigInvalidError",
        data: { path: "/x.json", issues: [{ path: ["plugin"], message: "Expected array" }] },
      },
    },
    problem: /ConfigInvalidError · \/x\.json · plugin: Expected array/,
  },
  {
    name: "offers a tool to nobody",
    answers: { tools: TOOLS, agents: [BUILD] },
    problem: /no agent is offered the tool fork/,
  },
])("finds a problem where OpenCode $name", async ({ answers, problem }) => {
  const findings = await diagnoseOpencode({
    directory: root,
    env: { ...process.env, HOME: root, XDG_CONFIG_HOME: "", OPENCODE_CONFIG_CONTENT: "{}" },
    opencode: program(answers),
    store: join(root, "store"),
    selfTest: true,
  });
  expect(
    findings
      .filter(({ level }) => level === "problem")
      .map(({ what }) => what)
      .join("\n"),
  ).toMatch(problem);
});

it("says what a program said that did not start", async () => {
  const file = join(root, "broken");
  writeFileSync(file, "#!/bin/sh\necho no licence >&2\nexit 4\n");
  chmodSync(file, 0o755);
  expect(await askHost({ binary: file, directory: root, env: process.env, host: "opencode" })).toMatchObject({
    status: "refused",
    reason: expect.stringMatching(/code 4.*no licence/s),
  });
});
