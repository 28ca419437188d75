import { join } from "node:path";
import { createFileJournal } from "../../src/stores/files/journal.ts";
import { createFileOutputStore } from "../../src/stores/files/output-store.ts";
import { createFileRecordStore } from "../../src/stores/files/record-store.ts";
import { fillerOf } from "./kill-protocol.ts";

// One of several writers on the same store; prints what it has to report as one line of JSON.
const [task = "", root = "", countText, sizeText] = process.argv.slice(2);
const count = Number(countText);
const sizeBytes = Number(sizeText);
const tasks: Readonly<Record<string, () => Promise<unknown>>> = { update, append, output, big, each };
process.stdout.write(JSON.stringify(await tasks[task]?.()));

/** Adds 1 to the same record `count` times. */
async function update(): Promise<unknown> {
  const store = createFileRecordStore({ root, durable: false });
  let conflicts = 0;
  for (let done = 0; done < count; ) {
    const read = await store.get("shared");
    if (read.status !== "found") throw new Error(JSON.stringify(read));
    const value = (read.value as number) + 1;
    const outcome = await store.put({ id: "shared", value, expected: read.version });
    if (outcome.status === "stored") done += 1;
    else if (outcome.status === "conflict" || outcome.code === "LOCKED") conflicts += 1;
    else throw new Error(JSON.stringify(outcome));
  }
  return { conflicts };
}

/** Appends `count` entries of `sizeBytes` to the same session. */
async function append(): Promise<unknown> {
  const journal = createFileJournal({ root, session: "shared", durable: false });
  const filler = fillerOf("line", sizeBytes);
  for (let index = 0; index < count; index += 1) {
    const outcome = await journal.append({ pid: process.pid, index, filler });
    if (outcome.status !== "appended") throw new Error(JSON.stringify(outcome));
  }
  return { pid: process.pid };
}

/** Puts the same `count` contents as all other writers do. */
async function output(): Promise<unknown> {
  const store = createFileOutputStore({ root, durable: false });
  const handles: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const outcome = await store.put(fillerOf(`shared ${index}`, sizeBytes));
    if (outcome.status !== "stored") throw new Error(JSON.stringify(outcome));
    handles.push(outcome.handle);
  }
  return { handles };
}

/** Saves one line of `sizeBytes` and tells how much memory that took beyond the text itself. */
async function big(): Promise<unknown> {
  const text = fillerOf("one line without any break", sizeBytes);
  const store = createFileOutputStore({ root, durable: false });
  // Makes one flat string of it, which is the caller's memory and not the store's.
  text.charCodeAt(text.length - 1);
  await store.put("warm up");
  const beforeBytes = process.resourceUsage().maxRSS * 1024;
  const outcome = await store.put(text);
  if (outcome.status !== "stored") throw new Error(JSON.stringify(outcome));
  return { extraBytes: process.resourceUsage().maxRSS * 1024 - beforeBytes, bytes: outcome.bytes };
}

/** Writes one of each kind of file below `root`. */
async function each(): Promise<unknown> {
  const records = createFileRecordStore({ root: join(root, "records") });
  const first = await records.put({ id: "a", value: 1, expected: "missing" });
  if (first.status === "stored") await records.put({ id: "a", value: 2, expected: first.version });
  const journal = createFileJournal({ root: join(root, "journals"), session: "s" });
  await journal.append("short");
  await journal.append(fillerOf("long", 1_100_000));
  await createFileOutputStore({ root: join(root, "outputs") }).put("text");
  return {};
}
