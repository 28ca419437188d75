import type { SessionMessage } from "../src/formats/wires/opencode/decode-messages.ts";

export interface SessionShape {
  readonly messages: number;
  readonly toolResults: number;
  readonly seed?: number;
}

/** An OpenCode session with log-normal tool outputs of 200 to 200,000 characters: 400 messages and 300 results are about 5 MB. */
export function generateSession({
  messages,
  toolResults,
  seed = 1,
}: SessionShape): readonly SessionMessage[] {
  const random = createRandom(seed);
  const text = createText(random);
  const session: SessionMessage[] = [];
  let made = 0;
  for (let index = 0; index < messages; index++) {
    const isUser = index % 8 === 0;
    const info = {
      id: `msg_${index}`,
      role: isUser ? "user" : "assistant",
      time: { created: index },
      ...(!isUser && { finish: "stop", tokens: {} }),
    };
    const parts: SessionMessage["parts"][number][] = [
      { type: "text", text: text(40 + Math.floor(random() * 900)) },
    ];
    while (!isUser && made < Math.ceil((toolResults * (index + 1)) / messages)) {
      const chars = Math.round(Math.min(200_000, Math.max(200, Math.exp(8.4 + 1.5 * gauss(random)))));
      parts.push({
        type: "tool",
        callID: `call_${made}`,
        tool: TOOLS[made % TOOLS.length],
        state: {
          status: "completed",
          input: { filePath: `src/file-${made}.ts`, command: text(60) },
          output: text(chars),
        },
      });
      made++;
    }
    session.push({ info, parts });
  }
  return session;
}

/** A session of many equal messages, nothing but text. */
export function generateTexts(messages: number, charsEach: number): readonly SessionMessage[] {
  const text = createText(createRandom(2));
  return Array.from({ length: messages }, (_, index) => ({
    info: { id: `msg_${index}`, role: index % 2 === 0 ? "user" : "assistant", time: { created: index } },
    parts: [{ type: "text", text: text(charsEach) }],
  }));
}

const TOOLS = ["read", "bash", "grep", "edit", "webfetch"] as const;

/** A seeded random generator (mulberry32), so that every run measures the same session. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function gauss(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Text as tools print it: code, logs and JSON, in lines. */
function createText(random: () => number): (chars: number) => string {
  const pick = (below: number) => Math.floor(random() * below);
  const words = Array.from({ length: 2_000 }, () =>
    Array.from({ length: 2 + pick(9) }, () => String.fromCharCode(97 + pick(26))).join(""),
  );
  const word = () => words[pick(words.length)] ?? "";
  const lines = [
    () =>
      `${"  ".repeat(1 + pick(4))}const ${word()} = ${word()}.${word()}("${word()}", { ${word()}: ${pick(999)} });\n`,
    () => `${"  ".repeat(1 + pick(4))}if (${word()} === '${word()}') return ${word()}(${word()});\n`,
    () =>
      `2026-11-${10 + pick(20)}T0${pick(9)}:${10 + pick(49)}:${10 + pick(49)}Z INFO ${word()} ${word()} took ${pick(999)} ms\n`,
    () => `    "${word()}": "${word()} ${word()}",\n`,
    () => `${word()} ${word()} ${word()} ${word()} ${word()}, ${word()} ${word()} ${word()}.\n`,
  ];
  return (chars) => {
    const pieces: string[] = [];
    for (let length = 0; length < chars; ) {
      const line = lines[pick(lines.length)]?.() ?? "";
      pieces.push(line);
      length += line.length;
    }
    // Flatten the rope through JSON, so that the first reader does not pay for it.
    return JSON.parse(JSON.stringify(pieces.join("").slice(0, chars)));
  };
}
