import { counted } from './d1-intercept.ts';

export interface KvOperation {
  name: 'get' | 'put' | 'delete';
  key: string;
}

/**
 * The real KV, with a list of the operations that are sent to it.
 *
 * @param failing decides whether an operation fails before it reaches KV, and when
 * @param shown a value that a get returns instead of the stored one; undefined for the stored one
 */
export function spyOnKv(
  kv: KVNamespace,
  failing: (operation: KvOperation) => boolean | Promise<boolean> = () => false,
  shown: (key: string) => string | null | undefined = () => undefined,
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
        const value = name === 'get' ? shown(key) : undefined;
        if (value !== undefined) return value;
        return counted(() => Reflect.apply(kv[name], kv, [key, ...others]));
      };
    },
  });
  return { spy, operations };
}
