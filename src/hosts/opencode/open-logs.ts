/** The names of the logs that a program has opened. */
export interface OpenLogs {
  add(rootSessionId: string): void;
  /** Those opened last, oldest first. */
  names(): readonly string[];
}

/** None yet; of very many only the newest are known, since the plugin runs for weeks. */
export function createOpenLogs(maxLogs: number = MAX_LOGS): OpenLogs {
  const opened = new Set<string>();
  return {
    add(rootSessionId) {
      opened.delete(rootSessionId);
      opened.add(rootSessionId);
      const [oldest] = opened;
      if (opened.size > maxLogs && oldest !== undefined) opened.delete(oldest);
    },
    names: () => [...opened],
  };
}

const MAX_LOGS = 256;
