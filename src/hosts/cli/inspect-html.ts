import { singleFile } from "../inspector/server/page-html.ts";
import type { InspectedSession } from "../inspector/view/types.ts";
import { CliError } from "./cli-error.ts";
import { pageAssets } from "./inspect-serve.ts";
import { writeWhole } from "./write-whole.ts";

/** Writes the page with its session as one file that only its owner may read. */
export async function writePage(path: string, session: InspectedSession): Promise<void> {
  const assets = await pageAssets();
  await writeWhole(path, pageOf(session, assets), { mode: 0o600 });
}

function pageOf(session: InspectedSession, assets: Awaited<ReturnType<typeof pageAssets>>): string {
  try {
    return singleFile(session, assets);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new CliError(
      `A session of ${session.transcript.length} messages is too long for one file`,
      ["Use --open."],
      {
        cause: error,
      },
    );
  }
}
