import { readForkTraces } from "../../fork/life/find-undone.ts";
import { type ForkMetadata, readForkMetadata, rebuildForkRecord } from "../../fork/life/rebuild-record.ts";
import { deliveryId } from "../../fork/life/record.ts";
import type { RecordList, RecordState } from "../../fork/life/record-store.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import type { AgentHost, SessionFacts } from "../host/agent-host.ts";
import type { ForkSetup } from "./forks.ts";

/**
 * Rebuilds the records of children whose record is missing or damaged and whose result is still owed to their parent, from
 * the notes on their sessions. Any other child is left alone: its record may have been purged on purpose.
 */
export async function rebuildForks({
  context,
  forks,
  listed,
  sinceMs,
}: RebuildInput): Promise<"done" | "not-done"> {
  const sessions = await context.host.sessions.list({ sinceMs });
  if (sessions.status === "failed") return "not-done";
  const stored = statesOf(listed);
  const numbers = numbersIn(listed);
  const isOwed = createOwedLook(context.host);
  let outcome: "done" | "not-done" = "done";
  for (const session of sessions.value) {
    const link = readForkMetadata(session.note);
    const expected = link === undefined ? undefined : (stored.get(link.id) ?? "missing");
    if (link === undefined || expected === undefined || typeof expected === "number") continue;
    const isOld = (session.updatedAtMs ?? 0) < sinceMs;
    if (isOld || forks.keeper.get(link.id) !== undefined) continue;
    const owed = await isOwed(link);
    if (owed === "unknown") outcome = "not-done";
    if (owed === "owed") await rebuild({ context, forks, session, link, expected, numbers });
  }
  return outcome;
}

interface RebuildInput extends ForkSetup {
  /** Everything that is stored. */
  readonly listed: RecordList;
  /** Sessions that were not used since are left alone. */
  readonly sinceMs: number;
}

/** Whether the conversation of the parent still waits for the newest run of a child; each parent is read once. */
function createOwedLook({
  sessions,
  format,
}: AgentHost): (link: ForkMetadata) => Promise<"owed" | "not-owed" | "unknown"> {
  const parents = new Map<string, ReturnType<typeof readParent>>();
  async function readParent(sessionId: string) {
    const read = await sessions.read(sessionId);
    if (read.status === "failed") return read.code === "missing" ? "not-owed" : "unknown";
    const { messages, undone = [] } = read.value;
    return [messages, undone].map((each) => readForkTraces(format.decode(each)));
  }
  return async (link) => {
    const asked = parents.get(link.parent) ?? readParent(link.parent);
    parents.set(link.parent, asked);
    const traces = await asked;
    if (typeof traces === "string") return traces;
    const { askedBy } = link;
    const wasDelivered = traces.some(({ deliveries }) => deliveries.has(deliveryId(link, link.run)));
    const isAskedFor = askedBy === undefined || traces.some(({ hasCall }) => hasCall(askedBy));
    return isAskedFor && !wasDelivered ? "owed" : "not-owed";
  };
}

async function rebuild({ context, forks, session, link, expected, numbers }: LostChild): Promise<void> {
  const { id, title, agent, model, costUSD, createdAtMs = context.now(), updatedAtMs } = session;
  const isTaken = numbers.has(`${link.root} ${link.number}`);
  const number = isTaken ? await forks.numbers.take(link.root) : link.number;
  const step = rebuildForkRecord({
    metadata: link,
    session: {
      id,
      title: title.replace(CHILD_TITLE, ""),
      createdAtMs,
      ...(updatedAtMs !== undefined && { updatedAtMs }),
      agent,
      providerId: model?.provider ?? "",
      modelId: model?.id ?? "",
      costUSD,
    },
    owner: forks.owner(),
    number,
    atMs: context.now(),
  });
  if ((await forks.keeper.add({ ...step, expected })) === "not-kept") return;
  numbers.add(`${link.root} ${number}`);
  context.notify.log("warn", `the record of fork ${number} was lost and was rebuilt from its session`);
}

const CHILD_TITLE = /^Fork \d+: /;

interface LostChild extends ForkSetup {
  readonly session: SessionFacts;
  readonly link: ForkMetadata;
  readonly expected: RecordState;
  /** Root and number of the known forks. */
  readonly numbers: Set<string>;
}

function statesOf({ records, problems }: RecordList): ReadonlyMap<string, RecordState> {
  return new Map<string, RecordState>([
    ...records.map(({ id, version }) => [id, version] as const),
    ...problems.flatMap(({ id }) => (id === undefined ? [] : [[id, "corrupt"] as const])),
  ]);
}

function numbersIn({ records }: RecordList): Set<string> {
  const forks = records.flatMap(({ value }) => readForkRecord(value) ?? []);
  return new Set(forks.map(({ rootSessionId, number }) => `${rootSessionId} ${number}`));
}
