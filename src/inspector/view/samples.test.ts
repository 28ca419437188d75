import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { checkSession, sessionOf } from "../../../test/rig/inspector/check-view.ts";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { profileSession } from "../../cli/inspect/profile-session.ts";
import { readTranscript } from "../../formats/read-transcript.ts";
import { createInspection } from "./inspection.ts";

const root = resolve(import.meta.dirname, "../../..");
const files = ["examples/sessions", "test/recordings"].flatMap((folder) =>
  readdirSync(resolve(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.jsonl?$/.test(file))
    .map((file) => `${folder}/${file}`),
);

describe("every recording", () => {
  it("is looked at", () => expect(files.length).toBeGreaterThan(15));

  it.each(files)("%s can be inspected", async (file) => {
    const { transcript, format } = await readTranscript(readFileSync(resolve(root, file)));
    if (format === "unknown") throw new Error(`${file} was not understood`);
    const inspection = createInspection(sessionOf(deepFreeze(transcript), { format }));
    checkSession(inspection);
    const { byKind } = profileSession(transcript, { top: 1 });
    const { tokensAfter } = inspection.inspectWindow({ policy: "as-sent" });
    // The table of the command line and the page count the same things.
    expect(tokensAfter).toBe(byKind.reduce((sum, { tokens }) => sum + tokens, 0));
  });
});
