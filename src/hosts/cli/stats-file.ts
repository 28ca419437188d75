import { profileSession, type SessionProfile } from "./profile-session.ts";
import { readInput } from "./read-input.ts";

/** What became of one file of a folder. */
export type FileStats =
  | ({ readonly status: "read"; readonly path: string; readonly format: string } & SessionProfile)
  | { readonly status: "skipped"; readonly path: string; readonly reason: string };

/** Measures one file; one that cannot be read is skipped, never fatal. */
export async function fileStats(path: string): Promise<FileStats> {
  try {
    const { format, transcript } = await readInput(path, "live");
    const profile = profileSession(transcript, { top: LARGEST_PER_FILE });
    return { status: "read", path, format, ...profile };
  } catch (error) {
    return { status: "skipped", path, reason: (error as Error).message };
  }
}

const LARGEST_PER_FILE = 5;
