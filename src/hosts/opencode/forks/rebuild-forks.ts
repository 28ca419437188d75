import { type Fields, fields, numberField, stringField } from "../../../formats/fields.ts";
import { rebuildForkRecord } from "../../../tasks/fork-metadata.ts";
import { readForkRecord } from "../../../tasks/read-fork-record.ts";
import type { RecordList, RecordState } from "../../../tasks/record-store.ts";
import type { PluginContext } from "../plugin-context.ts";
import type { Forks } from "./create-forks.ts";
import { type ForkBond, readBond } from "./fork-bonds.ts";

/** Makes records again for children whose record is missing or damaged, from what stands in their sessions. */
export async function rebuildForks({
  context,
  forks,
  listed,
  sinceMs,
}: RebuildInput): Promise<"done" | "not-done"> {
  const answer = await context.calls.call("GET", `/session?start=${Math.max(0, Math.floor(sinceMs))}`);
  if (answer.status === "failed" || !Array.isArray(answer.body)) return "not-done";
  const stored = statesOf(listed);
  const numbers = numbersIn(listed);
  for (const session of answer.body.map(fields)) {
    const bond = readBond(session);
    const expected = bond === undefined ? undefined : (stored.get(bond.id) ?? "missing");
    if (bond === undefined || expected === undefined || typeof expected === "number") continue;
    const isOld = (numberField(fields(session.time).updated) ?? 0) < sinceMs;
    if (isOld || forks.keeper.get(bond.id) !== undefined) continue;
    await rebuild({ context, forks, session, bond, expected, numbers });
  }
  return "done";
}

export interface RebuildInput {
  readonly context: PluginContext;
  readonly forks: Forks;
  /** Everything that is stored. */
  readonly listed: RecordList;
  /** Sessions that were not used since are left alone. */
  readonly sinceMs: number;
}

async function rebuild({ context, forks, session, bond, expected, numbers }: LostChild): Promise<void> {
  const id = stringField(session.id);
  if (id === undefined) return;
  const { way: _, number: known, ...metadata } = bond;
  const model = fields(session.model);
  const isFree = known !== undefined && !numbers.has(`${bond.root} ${known}`);
  const number = isFree ? known : await forks.numbers.take(bond.root);
  const step = rebuildForkRecord({
    metadata,
    session: {
      id,
      title: (stringField(session.title) ?? "").replace(/^Fork \d+: /, ""),
      createdAtMs: numberField(fields(session.time).created) ?? context.now(),
      agent: stringField(session.agent) ?? "build",
      providerId: stringField(model.providerID) ?? "",
      modelId: stringField(model.id) ?? "",
      costUSD: numberField(session.cost) ?? 0,
    },
    owner: forks.owner(),
    number,
    atMs: context.now(),
  });
  if ((await forks.keeper.add({ ...step, expected })) === "not-kept") return;
  numbers.add(`${bond.root} ${number}`);
  context.notify.log("warn", `the record of fork ${number} was lost and was rebuilt from its session`);
}

interface LostChild extends Pick<RebuildInput, "context" | "forks"> {
  readonly session: Fields;
  readonly bond: ForkBond;
  readonly expected: RecordState;
  /** Root and number of the forks that there are. */
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
