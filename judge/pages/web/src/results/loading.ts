// Data that are loaded once for each key.

// What `load` gives for a key, loaded at the first time. After a failure it is loaded again.
export function once<Key, Data>(
  loaded: Map<Key, Promise<Data>>, key: Key, load: () => Promise<Data>,
): Promise<Data> {
  const known = loaded.get(key);
  if (known) return known;
  const loading = load();
  loaded.set(key, loading);
  loading.catch(() => loaded.delete(key));
  return loading;
}
