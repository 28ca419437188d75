import { writeFileSync } from "node:fs";

// What a session does in a turn, in the order in which it decides: node scripts/pictures/session-turn.mjs
const QUESTIONS = [
  [
    "Did the provider refuse the last request?",
    "recover",
    "one retry step, the next one if that fails",
    "context_changed",
  ],
  [
    "Did an output come in that is too long?",
    "trim-outputs",
    "both ends and a handle stay, the store keeps all",
    "context_changed",
  ],
  [
    "Has a stage of yours not seen these yet?",
    "run-stage",
    "its edits are checked and put in force",
    "context_changed",
  ],
  ["Does the host compact by itself just now?", "none", "its marker waits for its summary", ""],
  [
    "Are more results visible than the cutoff?",
    "summarize-tool-results",
    "the oldest are summed up and archived",
    "tool_summary_…",
  ],
  [
    "Asked for, over the limit, or overflowing?",
    "compact",
    "first prune or supersede, where that is enough",
    "compaction_…",
  ],
  [
    "After a turn: do edits without a model pay?",
    "prune, supersede",
    "what they save against what the cache loses",
    "context_changed",
  ],
  [
    "Will a compaction soon be due?",
    "begin-compaction",
    "the summary is written while requests go on",
    "compaction_…",
  ],
];
const WIDTH = 1130;
const ROW = 74;
const TOP = 118;
const LEFT = 206;
const ACTION = 590;
const WIDE = 346;

const yOf = (index) => TOP + index * ROW;
const last = yOf(QUESTIONS.length);
const box = (x, y, width, height, kind) =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" class="${kind}"/>`;
const text = (x, y, content, kind, anchor = "start") =>
  `<text x="${x}" y="${y}" class="${kind}" text-anchor="${anchor}">${content}</text>`;

const rows = QUESTIONS.map(([question, action, says, events], index) => {
  const y = yOf(index);
  return [
    box(LEFT, y, WIDE, 50, "question"),
    text(LEFT + 16, y + 21, `${index + 1}`, "number"),
    text(LEFT + 34, y + 30, question, "label"),
    `<path d="M${LEFT + WIDE} ${y + 25}H${ACTION - 6}" class="line" marker-end="url(#to)"/>`,
    text(LEFT + WIDE + 8, y + 18, "yes", "small"),
    box(ACTION, y, WIDE, 50, "action"),
    text(ACTION + 14, y + 21, action, "code"),
    text(ACTION + 14, y + 40, says, "small"),
    text(ACTION + WIDE + 12, y + 29, events, "event"),
    `<path d="M${LEFT + 158} ${y + 50}V${y + ROW - 6}" class="line" marker-end="url(#to)"/>`,
    text(LEFT + 166, y + 66, "no", "small"),
  ].join("");
});

const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${last + 134}" font-family="system-ui, sans-serif" role="img" aria-label="A turn of a session: eight questions in order, the action that each leads to, and the call of the model when none is left">
<style>
svg{--ink:#1b2129;--soft:#4a535d;--page:#ffffff;--yours:#eef1f3;--ask:#ffffff;--edge:#8a949e;--do:#e3eefa;--doEdge:#3f76b5;--event:#8a4fa3}
@media (prefers-color-scheme:dark){svg{--ink:#e8ecef;--soft:#a9b3bd;--page:#11161b;--yours:#232b33;--ask:#11161b;--edge:#6c7782;--do:#1b2c40;--doEdge:#6ea3dd;--event:#cf9be6}}
.page{fill:var(--page)}.yours{fill:var(--yours);stroke:var(--edge)}.question{fill:var(--ask);stroke:var(--edge)}.action{fill:var(--do);stroke:var(--doEdge)}
.label{font-size:14px;fill:var(--ink)}.number{font-size:12px;font-weight:700;fill:var(--soft)}.code{font:600 14px ui-monospace,monospace;fill:var(--ink)}.small{font-size:11.5px;fill:var(--soft)}.event{font:11.5px ui-monospace,monospace;fill:var(--event)}.head{font-size:12px;font-weight:600;fill:var(--soft)}.line{fill:none;stroke:var(--edge);stroke-width:1.6}.tip{fill:var(--edge)}
</style>
<defs><marker id="to" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" class="tip"/></marker></defs>
<rect width="${WIDTH}" height="${last + 134}" class="page"/>
${text(LEFT, 24, "prepare() asks nextAction() …", "head")}${text(ACTION, 24, "… and runs the action, then asks again", "head")}${text(ACTION + WIDE + 12, 24, "events", "head")}
${box(20, 44, 532, 44, "yours")}${text(36, 71, "append(message), observe(transcript): something came in", "label")}
<path d="M${LEFT + 158} 88V${TOP - 6}" class="line" marker-end="url(#to)"/>
${rows.join("\n")}
${box(LEFT, last, WIDE, 50, "action")}${text(LEFT + 14, last + 21, "none", "code")}${text(LEFT + 14, last + 40, "messages() is what the model is sent", "small")}
<path d="M${LEFT + 158} ${last + 50}V${last + 74}" class="line" marker-end="url(#to)"/>
${box(20, last + 80, 532, 40, "yours")}${text(36, last + 105, "you call the model", "label")}
${box(ACTION, last + 80, WIDE, 40, "yours")}${text(ACTION + 14, last + 105, "onProviderError(error), onEmptyAnswer(answer)", "small")}
<path d="M552 ${last + 100}H${ACTION - 6}" class="line" marker-end="url(#to)"/>
<path d="M60 ${last + 80}V94" class="line" marker-end="url(#to)"/>${text(70, last + 4, "an answer, or the", "small")}${text(70, last + 20, "results of its calls", "small")}
<path d="M${ACTION + WIDE} ${last + 100}H${WIDTH - 10}V102H${LEFT + 166}" class="line" marker-end="url(#to)"/>${text(ACTION + WIDE + 12, last + 92, "refused: prepare again", "small")}
</svg>
`;
writeFileSync("docs/pictures/session-turn.svg", svg);
