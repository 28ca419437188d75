import { safeJson } from "../../text/safe-json.ts";
import type { Role } from "../../transcript/message.ts";
import type { FilePart, Part, ToolOutcome, ToolPart } from "../../transcript/part.ts";
import { shownOutcome } from "../../transcript/visibility.ts";
import type { BlockAdapter, PlacedBlock, Source } from "./block-adapter.ts";
import { isSameFile } from "./file-part.ts";
import type { PartOrigin } from "./read-blocks.ts";

/** Writes a part that an edit gave: what it still says as before is the block that stood there, only the rest is new. */
export function writePart<Wire, Item, Value>({
  adapter,
  role,
  part,
  old,
  from,
  main,
  results,
}: PartSubject<Wire, Item, Value>): void {
  if (part.type !== "tool") {
    if (from !== undefined && isSamePart(part, old)) {
      main.push({ ...from.main, part });
      return;
    }
    const value = adapter.writePart(
      part,
      sourceOf(role, old?.type === part.type ? from?.main : undefined, old),
    );
    if (value !== undefined) main.push({ half: "whole", part, value, ...homeOf(from?.main) });
    return;
  }
  const oldCall = old?.type === "tool" ? old : undefined;
  const isLoose = oldCall !== undefined && from?.main.half === "result";
  const shown = part.clearedAt === undefined ? part : { ...part, outcome: shownOutcome(part) };
  const oldMain = oldCall === undefined ? undefined : from?.main;
  if (!isLoose && !part.callMissing) {
    const isSame = oldMain !== undefined && isSameCall(part, oldCall);
    main.push(
      isSame
        ? { ...oldMain, part }
        : {
            half: "call",
            part,
            value: adapter.writeCall(part, sourceOf(role, oldMain, old)),
            ...homeOf(from?.main),
          },
    );
  }
  if (shown.outcome.status === "pending") return;
  const oldResult = isLoose ? oldMain : from?.result;
  const isSame = oldResult !== undefined && isSameOutcome(shown.outcome, oldCall?.outcome);
  const result: PlacedBlock<Value> = isSame
    ? { ...oldResult, part }
    : {
        half: "result",
        part,
        value: adapter.writeResult(shown, {
          ...sourceOf(role, oldResult, old),
          ...(!isLoose && oldMain !== undefined && { call: oldMain.value }),
        }),
        ...homeOf(oldResult),
      };
  // A result that answers nothing in sight stands where it stood.
  (isLoose || part.callMissing ? main : results).push(result);
}

export interface PartSubject<Wire, Item, Value> {
  readonly adapter: BlockAdapter<Wire, Item, Value>;
  readonly role: Role;
  readonly part: Part;
  readonly old: Part | undefined;
  readonly from: PartOrigin<Value> | undefined;
  /** Where its blocks go: those of its turn, and the results that stand behind it. */
  readonly main: PlacedBlock<Value>[];
  readonly results: PlacedBlock<Value>[];
}

function sourceOf<Value>(
  role: Role,
  placed: PlacedBlock<Value> | undefined,
  before: Part | undefined,
): Source<Value> {
  if (placed === undefined || before === undefined) return { role };
  return { role, before, value: placed.value };
}

/** The place of a block that is no longer what stands there. */
function homeOf(
  placed: PlacedBlock<unknown> | undefined,
): Pick<PlacedBlock<unknown>, "item" | "index" | "changed"> {
  if (placed?.item === undefined || placed.index === undefined) return {};
  return { item: placed.item, index: placed.index, changed: true };
}

function isSamePart(part: Part, old: Part | undefined): boolean {
  if (old === undefined || part.type !== old.type) return false;
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text === (old as typeof part).text;
    case "file":
      return isSameFile(part, old as FilePart);
    default:
      return true;
  }
}

function isSameCall(part: ToolPart, old: ToolPart | undefined): boolean {
  return (
    old !== undefined &&
    part.callId === old.callId &&
    part.tool === old.tool &&
    (part.input === old.input || safeJson(part.input) === safeJson(old.input))
  );
}

function isSameOutcome(outcome: ToolOutcome, old: ToolOutcome | undefined): boolean {
  if (outcome.status === "done" && old?.status === "done") {
    return (
      outcome.output === old.output &&
      outcome.attachments.length === old.attachments.length &&
      outcome.attachments.every((file, index) => isSameFile(file, old.attachments[index]))
    );
  }
  return outcome.status === "failed" && old?.status === "failed" && outcome.error === old.error;
}
