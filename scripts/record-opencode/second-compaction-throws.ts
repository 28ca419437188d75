/** An OpenCode plugin that lets the second compaction fail before the model is asked. */
export async function secondCompactionThrows(): Promise<Hooks> {
  let compactions = 0;
  return {
    "experimental.session.compacting": async () => {
      compactions += 1;
      if (compactions === 2) throw new Error("This compaction was made to fail");
    },
  };
}

interface Hooks {
  readonly "experimental.session.compacting": () => Promise<void>;
}
