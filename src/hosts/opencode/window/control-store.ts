import { join } from "node:path";
import { fields, numberField, stringField } from "../../../formats/fields.ts";
import { createFileRecordStore } from "../../../stores/files/file-record-store.ts";
import type { RecordStore } from "../../../tasks/record-store.ts";

/** Where a person's wishes reach a running plugin: one folder for those who run, one for what is asked of them. */
export function createControlStore(root: string): ControlStore {
  return {
    instances: createFileRecordStore({ root: join(root, "instances"), durable: false }),
    requests: createFileRecordStore({ root: join(root, "requests"), durable: false }),
  };
}

export interface ControlStore {
  /** One lease for each plugin that runs. */
  readonly instances: RecordStore;
  readonly requests: RecordStore;
}

/** Something asked of whichever plugin it concerns. A change of its state is a change of the record's version, so only one takes it. */
export interface ControlRequest {
  readonly schema: "control/1";
  readonly id: string;
  readonly askedAtMs: number;
  readonly want: ControlWant;
  readonly state: ControlState;
}

export type ControlWant =
  | { readonly type: "cancel-fork"; readonly forkId: string }
  | { readonly type: "undo"; readonly sessionId: string };

export type ControlState =
  | { readonly status: "asked" }
  | { readonly status: "taken" }
  | ({ readonly status: "answered" } & ControlAnswer);

/** What came of a request. */
export interface ControlAnswer {
  readonly outcome: "done" | "nothing" | "failed";
  /** For a person to read. */
  readonly text: string;
}

/** The request in a stored value, or undefined for anything else. */
export function readControlRequest(value: unknown): ControlRequest | undefined {
  const { schema, id, askedAtMs, want, state } = fields(value);
  const { type, forkId, sessionId } = fields(want);
  const isWant =
    (type === "cancel-fork" && stringField(forkId) !== undefined) ||
    (type === "undo" && stringField(sessionId) !== undefined);
  const { status, outcome, text } = fields(state);
  const isState =
    status === "asked" ||
    status === "taken" ||
    (status === "answered" && stringField(outcome) !== undefined && stringField(text) !== undefined);
  const isRequest = schema === "control/1" && stringField(id) !== undefined && isWant && isState;
  return isRequest && numberField(askedAtMs) !== undefined ? (value as ControlRequest) : undefined;
}
