import { unguarded } from "./guard-stream.ts";

/** A line on standard error that says what is being done, from the second on that it takes. */
interface ProgressLine {
  /** Announces the next step; before it begins, since it may block the thread. */
  show(text: string): void;
  end(): void;
}

/** A progress line: replaced in place and erased at the end on a terminal, else one line for each step. */
export function createProgressLine(stream: NodeJS.WriteStream = process.stderr): ProgressLine {
  const startedAtMs = performance.now();
  const startLine = (line: string): void => {
    // Erasing is ours alone: what a session holds could hide the line above it.
    (unguarded.get(stream) ?? stream.write.bind(stream))("\r\x1b[K");
    stream.write(line);
  };
  let text = "";
  let shown = "";
  const update = (): void => {
    const seconds = Math.floor((performance.now() - startedAtMs) / 1000);
    if (text === "" || seconds < 1) return;
    if (stream.isTTY) startLine(`${text} (${seconds} s)`);
    else if (shown !== text) stream.write(`${text}\n`);
    shown = text;
  };
  const timer = setInterval(update, 1000);
  timer.unref();
  return {
    show(next) {
      text = next;
      update();
    },
    end() {
      clearInterval(timer);
      if (stream.isTTY && shown !== "") startLine("");
      text = "";
    },
  };
}
