/** Says on standard error how many files are done: one line that changes on a terminal, a few lines elsewhere. */
export interface FileProgress {
  /** `note` is what else is worth knowing. */
  readonly step: (done: number, note?: string) => void;
  readonly end: () => void;
}

/** The progress of working through this many files. */
export function createFileProgress(stream: NodeJS.WriteStream, total: number): FileProgress {
  let saidTenths = 0;
  return {
    step(done, note = "") {
      const line = `${done} of ${total} files${note}`;
      const tenths = Math.floor((10 * done) / total);
      if (stream.isTTY) stream.write(`\r${line}`);
      else if (tenths > saidTenths) stream.write(`${line}\n`);
      saidTenths = tenths;
    },
    end() {
      if (stream.isTTY) stream.write("\n");
    },
  };
}
