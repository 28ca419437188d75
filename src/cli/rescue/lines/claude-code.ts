import type { JsonLine } from "../../../formats/lines/read-json-lines.ts";
import { asArray, asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import {
  type CollectedLines,
  createCounter,
  createMediaRoom,
  type Finding,
  type Keep,
  type NotedError,
  type SessionLines,
} from "./session-lines.ts";

/**
 * The lines of a Claude Code session: each with an id and a parent, those of other sessions and repeated ones left out.
 * `sessionId` is what the file is called.
 */
export function claudeCodeLines(keep: Keep, sessionId: string | undefined): SessionLines {
  const nodes: Node[] = [];
  /** All lines that others may name as their parent, with the session that they are of. */
  const known = new Map<string, string | undefined>();
  const repeated = createCounter();
  const emptied = createCounter();
  const withNewestMedia = createMediaRoom(keep);
  let error: NotedError | undefined;
  let hollow: Node | undefined;

  return {
    take({ lineNumber, value }: JsonLine): void {
      const line = asObject(value);
      const { type, subtype } = line;
      if (type === "api-request-blob") hollow = refill(hollow, line);
      const uuid = asString(line.uuid);
      const isMessage = type === "user" || type === "assistant";
      if (uuid !== undefined && known.has(uuid)) {
        if (isMessage) repeated.add(lineNumber);
        return;
      }
      if (uuid !== undefined) known.set(uuid, asString(line.sessionId));
      const isMain = line.isSidechain !== true;
      const message = asObject(line.message);
      const isError = message.model === "<synthetic>" || line.isApiErrorMessage === true;
      if (isError) error = { lineNumber, text: textIn(message.content) };
      if (isError || (!isMessage && subtype !== "compact_boundary")) {
        // Attachments, notes and errors are links of the chain.
        const { parentUuid } = line;
        if (uuid !== undefined)
          nodes.push({ lineNumber, line: { type: "note", uuid, parentUuid }, isMain, isLink: true });
        return;
      }
      // What was refused before an answer, or before a compaction, was taken in the end or stands for nothing any more.
      if (type === "assistant" || subtype === "compact_boundary") error = undefined;
      if (COMPACTION_ERROR.test(textIn(message.content)))
        error = { lineNumber, text: textIn(message.content) };
      const node: Node = { lineNumber, line: withNewestMedia(slim(line)), isMain, isLink: false };
      nodes.push(node);
      if (isMessage && isEmpty(message.content)) {
        emptied.add(lineNumber);
        if (!takeOwnCopy(node, line)) hollow = node;
      }
    },
    end(): CollectedLines {
      const foreign = foreignSession(nodes, known, sessionId);
      const kept =
        keep === "all" ? nodes : nodes.filter(({ line }) => line.sessionId !== foreign?.id || !foreign);
      const chain = keep === "all" ? chainAll(kept) : mendChain(kept, known);
      const count = nodes.filter(({ isMain, isLink }) => isMain && !isLink).length;
      const findings: readonly Finding[] = [
        ...chain,
        ...repeated.finding({
          problem: "repeated-line",
          severity: "note",
          text: (lines) => `${lines} repeated, which count once`,
        }),
        ...(foreign === undefined ? [] : [foreign.finding]),
        ...emptied.finding({
          problem: "emptied",
          severity: emptied.count() * MANY >= count ? "broken" : "note",
          text: (lines) => `${lines} of a message with nothing in it`,
        }),
      ];
      return {
        lines: kept.map(({ lineNumber, line }) => ({ lineNumber, value: line })),
        findings,
        ...(error && { error }),
      };
    },
  };
}

interface Node {
  readonly lineNumber: number;
  line: UnknownObject;
  /** False for a line of a sub-agent. */
  readonly isMain: boolean;
  /** True for a line that says nothing and is named as a parent. */
  readonly isLink: boolean;
}

const COMPACTION_ERROR = /Error during compaction/;

/** The agent's own copies of outputs can be larger than the conversation. */
function slim({ toolUseResult: _, ...line }: UnknownObject): UnknownObject {
  return line;
}

function isEmpty(content: unknown): boolean {
  return content === "" || (Array.isArray(content) && content.length === 0);
}

/** One message in so many. */
const MANY = 4;

/** What the program kept of an output beside the message becomes its text. */
function takeOwnCopy(node: Node, { toolUseResult }: UnknownObject): boolean {
  const { stdout, stderr, content, file } = asObject(toolUseResult);
  const texts = [
    stdout,
    stderr,
    asObject(file).content,
    ...asArray(content).map((each) => asObject(each).text),
  ];
  const text = texts.flatMap((each) => asString(each) || []).join("\n");
  if (text === "") return false;
  node.line = withContent(node.line, `[The output of a tool whose call is lost]\n${text}`);
  return true;
}

/** The request that was sent after an emptied message of the user says what stood in it. */
function refill(hollow: Node | undefined, { message }: UnknownObject): Node | undefined {
  const { role, content } = asObject(message);
  if (hollow === undefined || role !== "user" || hollow.line.type !== "user") return hollow;
  hollow.line = withContent(hollow.line, textIn(content));
  return undefined;
}

function withContent(line: UnknownObject, content: string): UnknownObject {
  return { ...line, message: { ...asObject(line.message), content } };
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  return asArray(content)
    .flatMap((block) => asString(asObject(block).text) ?? asString(asObject(block).content) ?? [])
    .join("\n");
}

/** A session that has nothing to do with the one of the file, where its lines stand in it too. */
function foreignSession(
  nodes: readonly Node[],
  known: ReadonlyMap<string, string | undefined>,
  sessionId: string | undefined,
): { readonly id: string; readonly finding: Finding } | undefined {
  const main = nodes.filter(({ isMain, isLink }) => isMain && !isLink);
  const ids = new Set(main.flatMap(({ line }) => asString(line.sessionId) ?? []));
  if (ids.size < 2) return undefined;
  const own = sessionId !== undefined && ids.has(sessionId) ? sessionId : largest(main);
  for (const id of ids) {
    if (id === own) continue;
    const lines = main.filter(({ line }) => line.sessionId === id);
    const isLinked = main.some(({ line }) => {
      const parent = parentOf(line);
      const of = parent === undefined ? undefined : known.get(parent);
      return of !== undefined && of !== line.sessionId && (of === id || line.sessionId === id);
    });
    const [first] = lines;
    if (isLinked || first === undefined) continue;
    const isLast = main.at(-1)?.line.sessionId === id;
    const text = `${lines.length} lines of another session, ${id}, which has nothing to do with this one`;
    const severity = isLast ? "broken" : "note";
    return { id, finding: { problem: "other-session", severity, line: first.lineNumber, text } };
  }
  return undefined;
}

function largest(nodes: readonly Node[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { line } of nodes) {
    const id = asString(line.sessionId) ?? "";
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return [...counts].sort((one, other) => other[1] - one[1])[0]?.[0];
}

/** Every line follows the one before it, also those of branches that were left and of sub-agents. */
function chainAll(nodes: readonly Node[]): readonly Finding[] {
  let before: string | null = null;
  for (const node of nodes) {
    const uuid = idOf(node);
    node.line = { ...node.line, uuid, parentUuid: before, isSidechain: false };
    before = uuid;
  }
  return [];
}

/** Lines without an id, without a parent, or with one that cannot be, follow the line before them. */
function mendChain(nodes: readonly Node[], known: ReadonlyMap<string, unknown>): readonly Finding[] {
  const broken = createCounter();
  const main = nodes.filter(({ isMain }) => isMain);
  const byId = new Map(main.map((node) => [idOf(node), node]));
  let before: string | null = null;
  for (const node of main) {
    const { line } = node;
    const parent = parentOf(line);
    const isRoot = parent === undefined && line.parentUuid === null;
    const isWhole =
      line.subtype === "compact_boundary" ||
      (typeof line.uuid === "string" &&
        (isRoot ? before === null || mayBegin(line) : known.has(parent ?? "") && !isCircle(node, byId)));
    if (!isWhole && (before !== null || typeof line.uuid !== "string")) {
      broken.add(node.lineNumber);
      node.line = { ...line, uuid: idOf(node), parentUuid: before };
    }
    before = idOf(node);
  }
  return broken.finding({
    problem: "broken-chain",
    severity: "broken",
    text: (lines) => `${lines} with no parent that can be: the program does not reach what stands before`,
  });
}

function parentOf({ parentUuid, logicalParentUuid }: UnknownObject): string | undefined {
  return asString(parentUuid) ?? asString(logicalParentUuid);
}

/** True for a line whose parent stands behind it and descends from it. Few stand behind, so that few ways are gone. */
function isCircle(node: Node, byId: ReadonlyMap<string, Node>): boolean {
  let at = byId.get(parentOf(node.line) ?? "");
  if (at === undefined || at.lineNumber < node.lineNumber) return false;
  const seen = new Set<Node>();
  while (at !== undefined && !seen.has(at)) {
    if (at === node) return true;
    seen.add(at);
    at = byId.get(parentOf(at.line) ?? "");
  }
  return false;
}

const idOf = ({ line, lineNumber }: Node): string => asString(line.uuid) ?? `line-${lineNumber}`;

/** A conversation begins with what the user says, or with a compaction; an answer or a result follows something. */
function mayBegin({ type, subtype, message }: UnknownObject): boolean {
  if (subtype === "compact_boundary" || type === "note") return true;
  const { content } = asObject(message);
  return type === "user" && !asArray(content).some((block) => asObject(block).type === "tool_result");
}
