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
    keys: () => [...entries.keys()],
  };
}

/** A map that drops the least recently used entry. The plugin runs for weeks, and hosts rarely delete sessions. */
interface LruMap<Key, Value> {
  /** Counts as a use. */
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
  delete(key: Key): void;
  /** The one that was not used for longest first. */
  keys(): readonly Key[];
}
