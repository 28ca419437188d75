/** A map that forgets what was not used for longest: the plugin runs for weeks, and sees sessions that nobody ever deletes. */
interface LruMap<Key, Value> {
  /** Counts as a use. */
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
  delete(key: Key): void;
}

/** An empty map that holds so many entries at the most. */
export function createLruMap<Key, Value>(maxEntries: number): LruMap<Key, Value> {
  const entries = new Map<Key, Value>();
  const put = (key: Key, value: Value): void => {
    entries.delete(key);
    entries.set(key, value);
  };
  return {
    get(key) {
      const value = entries.get(key);
      if (value !== undefined) put(key, value);
      return value;
    },
    set(key, value) {
      put(key, value);
      if (entries.size <= maxEntries) return;
      for (const oldest of entries.keys()) {
        entries.delete(oldest);
        return;
      }
    },
    delete: (key) => void entries.delete(key),
  };
}

/** The names of the logs that a program has opened. */
interface OpenLogs {
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
