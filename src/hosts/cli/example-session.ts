import type { SessionExport, SessionMessage, SessionPart } from "../../formats/opencode/session-message.ts";

/** A short session in OpenCode's own form: one file read three times, one long output, one failed edit. */
export function exampleSession(): SessionExport {
  const source = sourceText();
  const messages: SessionMessage[] = [
    user("The totals of some invoices are a cent off. Please find out why and mend it."),
    agent("I look at how totals are computed.", read("src/invoice.ts", source)),
    agent("And where they are used.", bash("grep -rn total src", grepText())),
    agent("I run the tests.", bash("npm test", testText())),
    agent("The rounding happens once per line.", read("src/invoice.ts", source)),
    agent("I round once, at the end.", failedEdit(source)),
    agent("The text was not quite the same; I read it again.", read("src/invoice.ts", source)),
    agent("Now the change.", edit(source)),
    agent("The tests pass now. Totals are rounded once, after adding up."),
    user("Thank you. Does the export to CSV do the same?"),
  ];
  return {
    info: { id: "ses_example", title: "Invoice totals are a cent off", directory: "/home/you/shop" },
    messages: messages.map((message, index) => numbered(message, index)),
  };
}

function numbered({ info, parts }: SessionMessage, index: number): SessionMessage {
  const id = `msg_${String(index).padStart(4, "0")}`;
  return {
    info: { ...info, id, sessionID: "ses_example", time: { created: 1_700_000_000_000 + index * 60_000 } },
    parts: parts.map((part, at) => ({
      ...part,
      id: `prt_${index}_${at}`,
      messageID: id,
      ...(part.type === "tool" && { callID: `call_${index}_${at}` }),
    })),
  };
}

function user(text: string): SessionMessage {
  return { info: { role: "user" }, parts: [{ type: "text", text }] };
}

function agent(text: string, ...calls: readonly SessionPart[]): SessionMessage {
  const info = {
    role: "assistant",
    finish: calls.length > 0 ? "tool-calls" : "stop",
    modelID: "example-model",
    providerID: "example",
  };
  return { info, parts: [{ type: "text", text }, ...calls] };
}

function call(tool: string, input: object, outcome: object): SessionPart {
  return { type: "tool", tool, state: { input, ...outcome } };
}

function done(output: string): object {
  return { status: "completed", output, title: "", metadata: {}, time: { start: 1, end: 2 } };
}

const read = (filePath: string, output: string): SessionPart => call("read", { filePath }, done(output));
const bash = (command: string, output: string): SessionPart => call("bash", { command }, done(output));

function edit(source: string): SessionPart {
  return call(
    "edit",
    { filePath: "src/invoice.ts", oldString: source.slice(0, 300), newString: source.slice(0, 320) },
    done("Done."),
  );
}

function failedEdit(source: string): SessionPart {
  const input = { filePath: "src/invoice.ts", oldString: source.slice(10, 600), newString: "…" };
  return call("edit", input, {
    status: "error",
    error: "oldString was not found",
    time: { start: 1, end: 2 },
  });
}

function sourceText(): string {
  return lines(
    120,
    (line) =>
      `${line}  const amount${line} = Math.round(items[${line}].price * items[${line}].count * 100) / 100;`,
  );
}

function grepText(): string {
  return lines(60, (line) => `src/report-${line}.ts:${line * 3}: const total = invoice.total();`);
}

function testText(): string {
  return `${lines(400, (line) => `  ok ${line} invoice number ${1000 + line} adds up`)}\n  not ok 401 expected 19.99, got 20.00`;
}

function lines(count: number, line: (number: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index + 1)).join("\n");
}
