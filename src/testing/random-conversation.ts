/** One step of a conversation, for a format's author to write as the program or the provider does. */
export type ConversationStep =
  | { readonly by: "user"; readonly text: string }
  | {
      readonly by: "assistant";
      /** Comes before the calls; empty where it only calls. */
      readonly text: string;
      readonly calls: readonly ConversationCall[];
    };

/** A call of a tool and what came of it. */
export interface ConversationCall {
  readonly id: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: string;
}

/** A conversation that begins and ends with the user; the same seed gives the same. */
export function randomConversation(seed: number): readonly ConversationStep[] {
  const dice = createDice(seed);
  const steps: ConversationStep[] = [{ by: "user", text: text(dice) }];
  let callCount = 0;
  for (let turn = 0; turn < 1 + dice(4); turn++) {
    for (let step = 0; step < 1 + dice(3); step++) {
      const calls = Array.from({ length: dice(4) }, () => {
        callCount++;
        const input =
          dice(2) === 0 ? { path: `src/${callCount}.ts` } : { command: text(dice), depth: [callCount, null] };
        return {
          id: `call_${seed}_${callCount}`,
          tool: dice(2) === 0 ? "read" : "run",
          input,
          output: text(dice),
        };
      });
      steps.push({ by: "assistant", text: calls.length > 0 && dice(2) === 0 ? "" : text(dice), calls });
      if (calls.length === 0) break;
    }
    steps.push({ by: "user", text: text(dice) });
  }
  return steps;
}

/** A text that occurs once, of the kinds that programs write and formats trip over. */
function text(dice: Dice): string {
  const mark = `${dice(1_000_000)}`;
  const kinds = [
    `line ${mark}\nand another\n\n`,
    `ünïcödé ${mark} 🦊 "quoted" \\n </tag> {"json": [1]}`,
    `${mark} ${"a long line of words ".repeat(40 + dice(60))}`,
    `# ${mark}\n\n\`\`\`ts\nconst x = ${mark};\n\`\`\``,
    mark,
  ];
  return kinds[dice(kinds.length)] ?? mark;
}

/** A whole number from 0 to below the limit. */
type Dice = (limit: number) => number;

function createDice(seed: number): Dice {
  let state = (seed + 1) * 0x9e3779b1;
  return (limit) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
    state = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    state ^= state >>> 15;
    return (state >>> 0) % limit;
  };
}
