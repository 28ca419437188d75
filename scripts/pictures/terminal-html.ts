/** A page that shows what a terminal shows, from the text with colour codes that `tmux capture-pane -e` gives. */
export function terminalHtml(captured: string, { title }: { readonly title: string }): string {
  const lines = captured.replace(/\n+$/, "").split("\n").map(lineHtml);
  return `<!doctype html><meta charset="utf-8"><title>${escapeHtml(title)}</title><style>
body{margin:0;padding:24px;background:#d8d8d4;width:max-content}
figure{margin:0;border-radius:8px;overflow:hidden;box-shadow:0 6px 24px #0005;background:#0a0a0a}
figcaption{background:#2b2b2b;color:#aaa;font:12px sans-serif;padding:7px 12px;text-align:center}
pre{margin:0;padding:10px 14px;color:#eee;font:14px/1.25 "DejaVu Sans Mono",monospace}
</style><figure><figcaption>${escapeHtml(title)}</figcaption><pre>${lines.join("\n")}</pre></figure>`;
}

function lineHtml(line: string): string {
  let style: Style = {};
  return line
    .split(COLOUR_CODE)
    .map((piece, index) => {
      if (index % 2 === 1) {
        style = applyCodes(style, piece.split(";").map(Number));
        return "";
      }
      return piece === "" ? "" : `<span style="${css(style)}">${escapeHtml(piece)}</span>`;
    })
    .join("");
}

interface Style {
  readonly color?: string;
  readonly background?: string;
  readonly bold?: boolean;
  readonly reverse?: boolean;
}

const COLOUR_CODE = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m`);

function applyCodes(style: Style, codes: readonly number[]): Style {
  let next = style;
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0;
    if (code === 0) next = {};
    else if (code === 1) next = { ...next, bold: true };
    else if (code === 22) next = { ...next, bold: false };
    else if (code === 7) next = { ...next, reverse: true };
    else if (code === 27) next = { ...next, reverse: false };
    else if ((code === 38 || code === 48) && codes[index + 1] === 2) {
      const color = `rgb(${codes.slice(index + 2, index + 5).join(",")})`;
      next = code === 38 ? { ...next, color } : { ...next, background: color };
      index += 4;
    } else if ((code === 38 || code === 48) && codes[index + 1] === 5) index += 2;
    else if (code === 39) next = { ...next, color: "#eee" };
    else if (code === 49) next = { ...next, background: "transparent" };
  }
  return next;
}

function css({ color = "#eee", background = "transparent", bold, reverse }: Style): string {
  const [front, back] = reverse
    ? [background === "transparent" ? "#0a0a0a" : background, color]
    : [color, background];
  return `color:${front};background:${back}${bold ? ";font-weight:bold" : ""}`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
