import type { ModelsFlag } from "../files/read-models.ts";
import type { Delivered } from "../handoff/deliver.ts";
import type { SessionFile } from "../sessions/open-session.ts";
import type { ContinueFlags } from "../terminal/arguments.ts";
import type { Diagnosis } from "./diagnose.ts";
import type { ReadSession } from "./read-session.ts";

/** What was found out about a session, and what was done. */
export interface Rescued extends Case {
  readonly status: "rescued" | "broken" | "healthy";
  readonly delivered: Delivered | undefined;
}

export interface Case {
  readonly file: SessionFile;
  readonly session: ReadSession;
  readonly diagnosis: Diagnosis;
}

/** What a command line asks for. */
export interface RescueFlags extends ContinueFlags, ModelsFlag {
  readonly dryRun?: true;
  readonly force?: true;
  readonly budget?: number;
  readonly window?: number;
  readonly beforeCompaction?: true;
  readonly store?: string;
}
