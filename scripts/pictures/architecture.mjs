import { writeFileSync } from "node:fs";
import { root } from "../run.mjs";

// The rooms by layer, and the four journeys of docs/architecture.md as lines through them: node scripts/pictures/architecture.mjs
const ROOMS = [
  ["cli", "one command a file or folder"],
  ["inspector", "server, view and page"],
  ["eval", "what a policy keeps of what came next"],
  ["hosts", "one adapter for each agent or framework"],
  ["middleware", "a session in front of a model"],
  ["agents", "what several coding agents share"],
  ["plugin", "what Carryover does in any agent"],
  ["stores", "memory, files, PostgreSQL"],
  ["cost", "what requests cost, and cache misses"],
  ["handoff", "a session as another agent stores it"],
  ["session", "decides when"],
  ["fork", "what a sub-agent inherits; its life"],
  ["compaction", "overflow, plan, summary, recovery"],
  ["tool-output", "trims one new output"],
  ["formats", "foreign messages ⇄ transcript"],
  ["stages", "transcript → edits"],
  ["transcript", "messages, parts, edits, sizes"],
  ["models", "windows, prices, caches, as data"],
  ["text", "cuts, tokens, secrets, options"],
];
const JOURNEYS = [
  {
    title: "1  a turn of a session",
    color: "#0072b2",
    steps: [
      ["session", "observe"],
      ["transcript", "estimate"],
      ["session", "nextAction"],
      ["compaction", "shouldCompact"],
      ["session", "messages"],
      ["stages", "repairPairing"],
    ],
  },
  {
    title: "2  an output trimmed, recalled",
    color: "#d55e00",
    steps: [
      ["hosts", "tool.execute.after"],
      ["plugin", "trim"],
      ["tool-output", "truncateToolContent"],
      ["stores", "put"],
      ["plugin", "recall tool"],
      ["session", "recall"],
      ["stores", "get"],
    ],
  },
  {
    title: "3  a fork and its result",
    color: "#007a5a",
    steps: [
      ["plugin", "fork tool"],
      ["fork", "start"],
      ["plugin", "launch"],
      ["fork", "forkContext"],
      ["stages", "fill"],
      ["hosts", "createChild, prompt"],
      ["plugin", "prepend"],
      ["fork", "advance"],
      ["plugin", "deliver"],
      ["hosts", "prompt"],
    ],
  },
  {
    title: "4  inspect --open",
    color: "#8a4fa3",
    steps: [
      ["cli", "runCli"],
      ["formats", "readTranscript"],
      ["stages", "redact"],
      ["inspector", "serve"],
      ["inspector", "page"],
      ["stages", "policies"],
      ["inspector", "rows"],
    ],
  },
];
const LABEL_WIDTH = 290;
const STEP_WIDTH = 34;
const ROW_HEIGHT = 44;
const TOP = 60;

const rowOf = (room) => TOP + ROOMS.findIndex(([name]) => name === room) * ROW_HEIGHT + ROW_HEIGHT / 2;
const width = JOURNEYS.reduce((x, { steps }) => x + steps.length * STEP_WIDTH + 80, LABEL_WIDTH + 20);
const height = TOP + ROOMS.length * ROW_HEIGHT + 16;

const rows = ROOMS.map(([name, says], index) => {
  const y = TOP + index * ROW_HEIGHT;
  const shade =
    index % 2 === 0 ? `<rect x="0" y="${y}" width="${width}" height="${ROW_HEIGHT}" fill="#eef1f3"/>` : "";
  return `${shade}<text x="16" y="${y + 20}" class="room">${name}/</text><text x="16" y="${y + 36}" class="says">${says}</text>`;
});
let left = LABEL_WIDTH + 20;
const panels = JOURNEYS.map(({ title, color, steps }) => {
  const points = steps.map(([room, label], index) => ({
    x: left + 14 + index * STEP_WIDTH,
    y: rowOf(room),
    label,
  }));
  const line = points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");
  const dots = points.map(
    ({ x, y, label }, index) =>
      `<circle cx="${x}" cy="${y}" r="4.5" fill="${color}"/><text x="${x + 7}" y="${y + (index % 2 === 0 ? -7 : 16)}" class="step" fill="${color}">${label}</text>`,
  );
  const panel = `<text x="${left}" y="36" class="title" fill="${color}">${title}</text><path d="${line}" fill="none" stroke="${color}" stroke-width="2"/>${dots.join("")}`;
  left += steps.length * STEP_WIDTH + 80;
  return panel;
});
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" role="img" aria-label="The rooms of Carryover by layer, and four journeys through them">
<style>.room{font-size:15px;font-weight:600;fill:#1b2129}.says{font-size:12px;fill:#4a535d}.title{font-size:15px;font-weight:600}.step{font-size:11px;paint-order:stroke;stroke:#ffffff;stroke-width:3px}</style>
<rect width="${width}" height="${height}" fill="#ffffff"/>
${rows.join("\n")}
${panels.join("\n")}
</svg>
`;
writeFileSync(`${root}docs/pictures/architecture.svg`, svg);
