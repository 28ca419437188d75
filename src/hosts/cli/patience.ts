/** Says on standard error what is being done, once it takes more than a second. */
export interface Patience {
  /** What comes next; work that blocks the thread can only be announced before it begins. */
  say(text: string): void;
  end(): void;
}

/** On a terminal one line that changes and goes away; elsewhere a line for each thing said. */
export function createPatience(stream: NodeJS.WriteStream = process.stderr): Patience {
  const startedAtMs = performance.now();
  let text = "";
  let shown = "";
  const show = (): void => {
    const seconds = Math.floor((performance.now() - startedAtMs) / 1000);
    if (text === "" || seconds < 1) return;
    if (stream.isTTY) stream.write(`\r\x1b[K${text} (${seconds} s)`);
    else if (shown !== text) stream.write(`${text}\n`);
    shown = text;
  };
  const timer = setInterval(show, 1000);
  timer.unref();
  return {
    say(next) {
      text = next;
      show();
    },
    end() {
      clearInterval(timer);
      if (stream.isTTY && shown !== "") stream.write("\r\x1b[K");
      text = "";
    },
  };
}
