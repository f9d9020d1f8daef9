/** What is asked of KV. */
export interface KvOperation {
  name: 'get' | 'put' | 'delete';
  key: string;
}

/**
 * The real KV, with a list of what is asked of it.
 *
 * @param failing says of an operation whether it fails before it reaches KV, and when
 */
export function spyOnKv(
  kv: KVNamespace,
  failing: (operation: KvOperation) => boolean | Promise<boolean> = () => false,
): { spy: KVNamespace; operations: KvOperation[] } {
  const operations: KvOperation[] = [];
  const spy = new Proxy(kv, {
    get(_, name) {
      if (name !== 'get' && name !== 'put' && name !== 'delete') {
        throw new Error(`KV's ${String(name)} is not watched`);
      }
      return async (key: string, ...others: unknown[]) => {
        const operation: KvOperation = { name, key };
        operations.push(operation);
        if (await failing(operation)) throw new Error('KV is unreachable');
        return Reflect.apply(kv[name], kv, [key, ...others]);
      };
    },
  });
  return { spy, operations };
}
