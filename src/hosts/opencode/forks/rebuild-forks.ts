import { fields, numberField, stringField } from "../../../formats/fields.ts";
import { nextForkNumber } from "../../../tasks/admit-fork.ts";
import { rebuildForkRecord } from "../../../tasks/fork-metadata.ts";
import type { RecordState } from "../../../tasks/record-store.ts";
import type { PluginContext } from "../plugin-context.ts";
import type { Forks } from "./create-forks.ts";
import { readBond } from "./fork-bonds.ts";

/** Makes records again for children whose record is missing or damaged, from what stands in their sessions. */
export async function rebuildForks({ context, forks, stored, sinceMs }: RebuildInput): Promise<void> {
  const answer = await context.calls.call("GET", `/session?start=${Math.max(0, Math.floor(sinceMs))}`);
  if (answer.status === "failed" || !Array.isArray(answer.body)) return;
  for (const session of answer.body.map(fields)) {
    const bond = readBond(session);
    const id = stringField(session.id);
    const expected = bond === undefined ? undefined : (stored.get(bond.id) ?? "missing");
    if (bond === undefined || id === undefined || expected === undefined || typeof expected === "number")
      continue;
    const { created, updated } = fields(session.time);
    if ((numberField(updated) ?? 0) < sinceMs || forks.keeper.get(bond.id) !== undefined) continue;
    const { way: _, ...metadata } = bond;
    const model = fields(session.model);
    const step = rebuildForkRecord({
      metadata,
      session: {
        id,
        title: (stringField(session.title) ?? "").replace(/^Fork \d+: /, ""),
        createdAtMs: numberField(created) ?? context.now(),
        agent: stringField(session.agent) ?? "build",
        providerId: stringField(model.providerID) ?? "",
        modelId: stringField(model.id) ?? "",
        costUSD: numberField(session.cost) ?? 0,
      },
      owner: forks.owner(),
      number: nextForkNumber(forks.keeper.all(), metadata.root),
      atMs: context.now(),
    });
    await forks.keeper.add({ ...step, expected });
    context.notify.log(
      "warn",
      `the record of fork ${step.record.number} was lost and was rebuilt from its session`,
    );
  }
}

export interface RebuildInput {
  readonly context: PluginContext;
  readonly forks: Forks;
  /** What is stored of each fork. */
  readonly stored: ReadonlyMap<string, RecordState>;
  /** Sessions that were not used since are left alone. */
  readonly sinceMs: number;
}
